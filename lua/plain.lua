-- Gives back and prolongs keys that have no fence, and takes several at once; touches no other key.
-- SPDX-License-Identifier: MIT
--
-- KEYS[i]  the i-th that is asked for: each request is about the next one, or the next several
-- ARGV     the requests, each a word and its arguments:
--   release VALUE
--   keep VALUE TTL     instead of a release: the key is ours for so many more ms, and no longer
--   extend VALUE TTL   in ms; a key that would live longer, or for ever, keeps its time
--   acquire_all M VALUE TTL  takes M keys, or none of them
--   release_all M VALUE, keep_all M VALUE TTL, extend_all M VALUE TTL
--
-- Returns a list with an answer for each request, or the answer itself where there is but one: 1 if
-- the key was deleted, or is ours for the ttl or longer, or kept, 0 if it holds another value, -1 if there is
-- no key, or an error: WRONGTYPE where it is not a string, or what the server replied. Of several
-- keys: 1 where that is the answer for each; to acquire_all else {2, 0, value, 0, 0, '', which}: the
-- first that is held, from 0, and the first 128 bytes of what it holds.
-- include shared/prolong.lua

local function give_back_or_prolong(what, key, value, ttl)
    local current = redis.pcall('GET', key)
    if current ~= value then
        return type(current) == 'table' and current or current and 0 or -1
    elseif what == 'extend' then
        return prolong(key, ttl)
    elseif what == 'keep' then
        return redis.pcall('PEXPIRE', key, ttl)
    end
    return redis.pcall('DEL', key)
end

local function acquire_all(first, m, value, ttl)
    local stored, taken = {}, {}
    for j = 0, m - 1 do
        local current = redis.pcall('GET', KEYS[first + j])
        if type(current) == 'table' then
            return current
        elseif current and current ~= value then
            return {2, 0, string.sub(current, 1, 128), 0, 0, '', j}
        end
        stored[j] = current
    end
    for j = 0, m - 1 do
        local key, answer = KEYS[first + j], nil
        if stored[j] then
            answer = prolong(key, ttl)
        else
            local done = redis.pcall('SET', key, value, 'PX', ttl)
            answer = done.err and done or 1
            taken[#taken + 1] = answer == 1 and key or nil
        end
        if answer ~= 1 then
            for _, name in ipairs(taken) do
                redis.pcall('DEL', name)
            end
            return answer
        end
    end
    return 1
end

-- The answer is 1 where that is the answer for each. A lease is prolonged only as a whole.
local function all_of(what, first, m, value, ttl)
    local failure
    local least = 1
    for j = 0, what == 'extend' and m - 1 or -1 do
        local current = redis.pcall('GET', KEYS[first + j])
        if current ~= value then
            return type(current) == 'table' and current or current and 0 or -1
        end
    end
    for j = 0, m - 1 do
        local answer = give_back_or_prolong(what, KEYS[first + j], value, ttl)
        if type(answer) == 'table' then
            failure = failure or answer
        elseif answer ~= 1 then
            least = least == 0 and 0 or answer
        end
    end
    return failure or least
end

local answers = {}
local at, i = 1, 1  -- the next word and key
while i <= #KEYS do
    local what, m, answer = ARGV[at], 1, nil
    local alone = string.match(what, '^(.*)_all$')
    if alone then
        m = tonumber(ARGV[at + 1])
        at = at + 1
    end
    local value, ttl = ARGV[at + 1], ARGV[at + 2]
    if what == 'acquire_all' then
        answer = acquire_all(i, m, value, ttl)
    elseif alone then
        answer = all_of(alone, i, m, value, ttl)
    else
        answer = give_back_or_prolong(what, KEYS[i], value, ttl)
    end
    answers[#answers + 1] = answer
    i = i + m
    at = at + ((alone or what) == 'release' and 2 or 3)
end
return answers[2] and answers or answers[1]
