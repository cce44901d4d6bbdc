-- Which slots of a resource are taken; included after shared/clock.lua; knows no lock.
-- SPDX-License-Identifier: MIT
--
-- The key of slot 3 of K is K#3. All slots have the queue of K, and a sorted set that tells which
-- of them are taken: each one's number, and until when it is, in ms of this node's clock. "k:5" in
-- it says that somebody names five slots, its score, below zero, until when that counts: where
-- programs name different numbers the smallest counts. "k:5/60000" says besides that each of them
-- has to stay taken for a minute: the longest such period counts. "k:5/60000@17" says that the
-- number was set at the instant 17: the number that was set last counts, and no other.
--
-- Only the key of a slot says which holder has it. The set and the queue are advice: which slot to
-- request, and when.
-- The number, the period and the instant in "5/60000@17"; nil where another program wrote it.
local function parts_of(k)
    local number, period, revision = string.match(k, '^(%d+)/?(%d*)@?(%d*)$')
    return tonumber(number), tonumber(period) or 0, tonumber(revision) or 0
end

-- What somebody names besides.
local function add_term(terms, k)
    local number, period, revision = parts_of(k)
    if not number or number < 1 or number > 1000 then -- of more the map would be large
        return
    end
    terms.longest = math.max(terms.longest, period)
    if revision == 0 then
        terms.least = math.min(terms.least, number)
    elseif revision > terms.revision then
        terms.revision, terms.newest = revision, number
    end
end

-- What all programs name; or the server's error.
local function named_terms(set, now_ms)
    local named = redis.pcall('ZRANGEBYSCORE', set, '-inf', string.format('(-%.0f', now_ms))
    if named.err then
        return named
    end
    local terms = {least = math.huge, longest = 0, revision = 0}
    for _, member in ipairs(named) do
        add_term(terms, string.sub(member, 3))
    end
    return terms
end

-- How many slots there are by those terms and `k`.
local function count_by(terms, k)
    local number, _, revision = parts_of(k)
    if revision > terms.revision then
        return number
    elseif terms.revision > 0 then
        return terms.newest
    end
    return math.min(terms.least, number)
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

-- For how many ms no `m` slots are free, where so many of `k` are taken; 0 where they are. Where
-- there are fewer: so long `k` counts at least, see `shorten_count`.
local function time_to_first(taken, size, k, now_ms, m)
    local lacking = size + m - k
    if lacking <= 0 then
        return 0
    elseif m > k then
        return 15000
    end
    local ends = {}
    for _, until_ms in pairs(taken) do
        ends[#ends + 1] = until_ms
    end
    table.sort(ends)
    return (ends[lacking] or ends[#ends] or now_ms) - now_ms
end

-- One bit for each slot, from the lowest of the first byte on: 1 where it is free. `held`: by their
-- numbers those that are not, though they may not be among the taken ones.
local function map_of_free(taken, k, held)
    local bytes = {}
    for base = 0, k - 1, 8 do
        local byte = 0
        for bit = 0, math.min(7, k - 1 - base) do
            local slot = string.format('%.0f', base + bit)
            if not taken[slot] and not held[slot] then
                byte = byte + 2 ^ bit
            end
        end
        bytes[#bytes + 1] = string.char(byte)
    end
    return table.concat(bytes)
end
