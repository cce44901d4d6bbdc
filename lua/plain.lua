-- Gives back and prolongs keys that have no fence; touches no other key.
-- SPDX-License-Identifier: MIT
--
-- KEYS[i]  the key of request i
-- ARGV     the requests, each a word and its arguments:
--   release VALUE
--   keep VALUE TTL     instead of a release: the key is ours for so many more ms, and no longer
--   extend VALUE TTL   in ms; a key that would live longer, or for ever, keeps its time
--
-- Returns a list with an answer for each request, or the answer itself where there is but one: 1 if
-- the key was deleted, or is ours for the ttl or longer, or kept, 0 if it holds another value, -1 if there is
-- no key, or an error: WRONGTYPE where it is not a string, or what the server replied.
-- include shared/prolong.lua

local answers = {}
local at = 1
for i, key in ipairs(KEYS) do
    local what, value = ARGV[at], ARGV[at + 1]
    local current = redis.pcall('GET', key)
    if current ~= value then
        answers[i] = type(current) == 'table' and current or current and 0 or -1
    elseif what == 'extend' then
        answers[i] = prolong(key, ARGV[at + 2])
    elseif what == 'keep' then
        answers[i] = redis.pcall('PEXPIRE', key, ARGV[at + 2])
    else
        answers[i] = redis.pcall('DEL', key)
    end
    at = at + (what == 'release' and 2 or 3)
end
return #KEYS == 1 and answers[1] or answers
