-- Prolongs the keys of many leases, and takes again those that are gone; knows no other node.
-- SPDX-License-Identifier: MIT
--
-- ARGV[1]  n, the number of leases
-- ARGV[2..n+1]     their owner values
-- ARGV[n+2..2n+1]  their ttls in ms
-- KEYS[1..n]       their keys
--
-- With fences, also
-- KEYS[n+1..2n]  their fences
-- KEYS[2n+1]     the node record
-- ARGV[2n+2]  the proposed fence, fresh for this round
-- ARGV[2n+3]  how far a fence may lie from this node's clock where its own is missing, in us
-- ARGV[2n+4]  how long a fence lives, in ms
-- ARGV[2n+5]  the epoch that the node record had in the handshake; empty: not compared
-- ARGV[2n+6]  the time of this node's clock, in us, after which nothing is done; empty: no limit
--
-- Returns 'AMNESIAC' where the node record is missing or another, and 'LATE' where the time limit
-- had passed; in both cases nothing was done. Otherwise one number per lease:
--    1  extended: the key is ours for the ttl or longer. Never shortens: a key that would live
--       longer, or for ever, keeps its time. A key that was gone was taken again under its fence.
--    0  another value is there
--   -1  gone, and not taken: without fences
--   -2  gone, and the fence is too far above this node's time
--   -3  a key holds what this library never writes
--   2 or more: gone, and not taken: the number is the highest fence that the node has seen, and the
--       proposed one is not above it (2 also stands for any lower fence)
-- include shared/clock.lua
-- include shared/fence.lua
local n = tonumber(ARGV[1])
local is_fenced = #KEYS > n
local found = {}
local proposed, allowance, fence_life

if is_fenced then
    found = redis.call('MGET', unpack(KEYS))
    local refused = refusal(found[2 * n + 1], ARGV[2 * n + 5], ARGV[2 * n + 6])
    if refused then
        return refused
    end
    proposed = tonumber(ARGV[2 * n + 2])
    allowance = tonumber(ARGV[2 * n + 3])
    fence_life = ARGV[2 * n + 4]
end

local function take_again(i)
    local seen = parse_fence(found[n + i])
    if seen == false then
        return -3
    end
    if is_ahead(proposed, seen, allowance) then
        return -2
    end
    local least = least_fence(seen, allowance)
    if proposed <= least then
        return math.max(least, 2)
    end
    -- What MGET can't read looks free and missing; NX tells: such a key is never overwritten. A
    -- string that shows up only now was taken for another lease in this very call.
    if not redis.call('SET', KEYS[i], ARGV[1 + i], 'NX', 'PX', ARGV[n + 1 + i]) then
        return type(redis.pcall('GET', KEYS[i])) == 'string' and 0 or -3
    end
    if not set_fence(KEYS[n + i], seen, ARGV[2 * n + 2], fence_life) then
        redis.call('DEL', KEYS[i])  -- nothing is taken without its fence
        return -3
    end
    return 1
end

local answers = {}
-- Those that are there first: where memory has run out the server refuses a SET only as long as
-- nothing was written, and a refusal ends the script.
for i = 1, n do
    local refusal
    if not is_fenced then
        found[i] = redis.pcall('GET', KEYS[i])  -- the user of a plain lock may have no more rights
        refusal = type(found[i]) == 'table' and found[i]
    end
    if refusal and not string.find(refusal.err, 'WRONGTYPE') then
        return refusal
    elseif refusal then
        answers[i] = -3
    elseif found[i] == ARGV[1 + i] then
        local left_ms = redis.call('PTTL', KEYS[i])
        if left_ms >= 0 and left_ms < tonumber(ARGV[n + 1 + i]) then
            redis.call('PEXPIRE', KEYS[i], ARGV[n + 1 + i])
        end
        answers[i] = 1
    elseif found[i] then
        answers[i] = 0
    else
        answers[i] = -1
    end
end
if is_fenced then
    for i = 1, n do
        if not found[i] then
            answers[i] = take_again(i)
        end
    end
end
return answers
