-- Which slots of a resource are taken; included after shared/clock.lua; knows no lock.
-- SPDX-License-Identifier: MIT
--
-- The key of slot 3 of K is K#3. All slots have the queue of K, and a sorted set that tells which
-- of them are taken: each one's number, and until when it is, in ms of this node's clock. "k:5" in
-- it says that somebody names five slots, its score, below zero, until when that counts: where
-- programs name different numbers the smallest counts. "k:5/60000" says besides that each of them
-- has to stay taken for a minute: the longest such period counts.
--
-- Only the key of a slot says which holder has it. The set and the queue are advice: which slot to
-- request, and when.
-- How many slots there are, by this program and all others, and for how many ms each has to stay
-- taken; or the server's error.
local function named_terms(set, k, now_ms)
    local named = redis.pcall('ZRANGEBYSCORE', set, '-inf', string.format('(-%.0f', now_ms))
    if named.err then
        return named
    end
    local longest = 0
    for _, member in ipairs(named) do
        local number, period = string.match(member, '^k:(%d+)/?(%d*)$')
        k = math.min(k, tonumber(number) or k)
        longest = math.max(longest, tonumber(period) or 0)
    end
    return k, longest
end

-- Until when each taken slot is taken, by its number as a text; and how many are. Or nil, and the
-- server's error.
local function taken_slots(set, k, now_ms)
    local all, taken = redis.pcall('ZRANGEBYSCORE', set, now_ms + 1, '+inf', 'WITHSCORES'), {}
    if all.err then
        return nil, all
    end
    local size = 0
    for i = 1, #all, 2 do
        if tonumber(all[i]) and tonumber(all[i]) < k then
            taken[all[i]] = tonumber(all[i + 1])
            size = size + 1
        end
    end
    return taken, size
end

-- For how many ms no slot is free, where so many of `k` are taken; 0 where one is.
local function time_to_first(taken, size, k, now_ms)
    if size < k then
        return 0
    end
    local first
    for _, until_ms in pairs(taken) do
        first = math.min(first or until_ms, until_ms)
    end
    return first - now_ms
end

-- One bit for each slot, from the lowest of the first byte on: 1 where it is free. `held`: a slot
-- that is not free, though it may not be among the taken ones.
local function map_of_free(taken, k, held)
    local bytes = {}
    for base = 0, k - 1, 8 do
        local byte = 0
        for bit = 0, math.min(7, k - 1 - base) do
            local slot = string.format('%.0f', base + bit)
            if not taken[slot] and slot ~= held then
                byte = byte + 2 ^ bit
            end
        end
        bytes[#bytes + 1] = string.char(byte)
    end
    return table.concat(bytes)
end
