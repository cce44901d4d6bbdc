-- Gives back and prolongs keys that have no fence, and takes several at once; touches no other key.
-- SPDX-License-Identifier: MIT
--
-- KEYS[i]  the i-th key of the requests: each request is about the next one, or the next several
-- ARGV     the requests, each a word and its arguments:
--   release VALUE
--   keep VALUE TTL     instead of a release: the key runs out in so many ms (shared/keep.lua)
--   extend VALUE TTL   in ms; a key that would live longer keeps its time
--   acquire_all M VALUE TTL  takes M keys, or none of them
--   release_all M VALUE, keep_all M VALUE TTL, extend_all M VALUE TTL
--
-- Returns a list with an answer for each request, or the answer itself where there is but one: 1 if
-- the key was deleted, or is ours for the ttl or longer, or kept, 0 if it holds another value, -1
-- if there is no key, or an error: WRONGTYPE where it is not a string, or what the server replied.
-- Of several keys: 1 where that is the answer for each; to acquire_all else {2, 0, value, 0, 0, '',
-- which}: the first that is held, from 0, and the first 400 bytes of what it holds.
-- include shared/prolong.lua

-- What the keys hold, where it is known: false is nothing. MGET does not tell nothing from what it
-- can't read.
local stored = {}
if KEYS[2] then
    local found = redis.pcall('MGET', unpack(KEYS))
    for i, key in ipairs(KEYS) do
        stored[key] = found[i] or nil
    end
end

local function give_back_or_prolong(what, key, value, ttl)
    local current = stored[key]
    if current == nil then
        current = redis.pcall('GET', key)
    end
    if current ~= value then
        return type(current) == 'table' and current or current and 0 or -1
    elseif what == 'extend' then
        return prolong(key, ttl)
    end
    stored[key] = nil
    if what == 'keep' then
-- include shared/keep.lua
        return keep_for(key, value, ttl)
    end
    return redis.pcall('DEL', key)
end

local set_rules

local function sets()
    if not set_rules then
-- include shared/plain_sets.lua
        set_rules = {acquire_all = acquire_all, all_of = all_of}
    end
    return set_rules
end

local answers = {}
local released, releases  -- keys that go together in the end, and the requests for that
local at, i, n = 1, 1, 1  -- the next word, key and request
while true do
    local what, key = ARGV[at], KEYS[i]
    if what == 'release' and stored[key] == ARGV[at + 1] then
        if not released then
            released, releases = {}, {}
        end
        released[#released + 1], stored[key] = key, false
        releases[#releases + 1], answers[n] = n, 1
        i, at = i + 1, at + 2
    elseif what == 'release' then
        answers[n] = give_back_or_prolong(what, key, ARGV[at + 1])
        i, at = i + 1, at + 2
    elseif what == 'extend' or what == 'keep' then
        answers[n] = give_back_or_prolong(what, key, ARGV[at + 1], ARGV[at + 2])
        i, at = i + 1, at + 3
    else
        -- The end, or several keys, which may be taken again.
        local done = released and redis.pcall('DEL', unpack(released))
        if type(done) == 'table' then
            for _, request in ipairs(releases) do
                answers[request] = done
            end
        end
        if not what then
            return answers[2] and answers or answers[1]
        end
        released = nil
        local m, value, ttl = tonumber(ARGV[at + 1]), ARGV[at + 2], ARGV[at + 3]
        local verb = string.match(what, '^(%l+)_all')
        if verb == 'acquire' then
            answers[n] = sets().acquire_all(i, m, value, ttl)
        else
            answers[n] = sets().all_of(verb, i, m, value, ttl)
        end
        at = at + (verb == 'release' and 3 or 4)
        i = i + m
    end
    n = n + 1
end
