-- Gives back and prolongs keys that have no fence; touches no other key.
-- SPDX-License-Identifier: MIT
--
-- KEYS[i]  the key of request i
-- ARGV     the requests, each a word and its arguments:
--   release VALUE
--   extend VALUE TTL   in ms; never shortens: a key that would live longer, or for ever, keeps its
--                      time
--
-- Returns a list with an answer for each request, or the answer itself where there is but one: 1 if
-- the key was deleted or is ours for the ttl or longer, 0 if it holds another value, -1 if there is
-- no key, or an error: WRONGTYPE where it is not a string, or what the server replied.
local function prolong(key, ttl)
    local left_ms = redis.call('PTTL', key)
    if left_ms >= 0 and left_ms < tonumber(ttl) then
        return redis.pcall('PEXPIRE', key, ttl)
    end
    return 1
end

local answers = {}
local at = 1
for i, key in ipairs(KEYS) do
    local what, value = ARGV[at], ARGV[at + 1]
    local current = redis.pcall('GET', key)
    local answer = type(current) == 'table' and current or current and 0 or -1
    if what == 'extend' then
        answers[i] = current == value and prolong(key, ARGV[at + 2]) or answer
        at = at + 3
    else
        answers[i] = current == value and redis.pcall('DEL', key) or answer
        at = at + 2
    end
end
return #KEYS == 1 and answers[1] or answers
