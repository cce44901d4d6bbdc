-- Takes a key under a fence, in turn: one node's whole vote; knows nothing of other nodes.
-- SPDX-License-Identifier: MIT
--
-- KEYS[1]  the key
-- KEYS[2]  its fence: the highest that this node has seen, in decimal
-- KEYS[3]  the node record
-- KEYS[4]  the queue of its waiters
-- ARGV[1]  the owner value
-- ARGV[2]  the ttl in ms
-- ARGV[3]  the proposed fence
-- ARGV[4]  how far a fence may lie from this node's clock where its own is missing, in us
-- ARGV[5]  how long the fence lives, in ms
-- ARGV[6..8]  of one that waits: its id, its ticket, and how long its entry lives, in ms; it is
--          entered in the queue where it has to wait, unless that is 0, and leaves it where it gets
--          the key
-- the last two of ARGV  the epoch that the node record had in the handshake; empty: not compared.
--          Then the time of this node's clock, in us, after which the key is not taken; empty: no
--          limit
--
-- Returns 1 where the key is now ours with at least that ttl, and the fence at least the proposed
-- one. Otherwise nothing was taken and nothing raised, and it returns a list:
--   {2, PTTL, value, fence, before}  held by somebody else; the first 128 bytes of the value, since
--                              foreign ones have no limit; the fence is 0 where there is none; for
--                              `before` see 3
--   {3, before, fence}         queued: free, but others wait, the first of them alive for at least
--                              that many ms unless it is heard of again
--   {4, fence}                 stale: free, but the proposed fence is not above this one
--   {5, time}                  ahead: free, but the proposed fence is too far above that time
-- or the status AMNESIAC where the node record is missing or another, or LATE where the time limit
-- had passed, or an error reply: FOREIGN where a key holds what this library never writes.
--
-- Uncontended it makes five calls: MGET, TIME, ZRANGE and two SET. TIME, which the time limit
-- needs, costs the server 13 % more processor time for an acquire, 1 to 33 % in twelve paired runs
-- (redis-server 7.0.15 on loopback, 20,000 acquires a run, one pipeline, two busy processors).
-- Three GET in place of MGET were 0 to 7 % slower in six of seven sets of paired runs, with single
-- runs 10 to 40 % apart; NX and XX made no measurable difference (redis-server 7.0.15 and 6.2.14
-- on loopback, 40,000 acquires a run).
-- include shared/clock.lua
-- include shared/fence.lua
-- include shared/queue.lua
local id, ticket, life_ms
if #ARGV == 10 then
    id, ticket, life_ms = ARGV[6], ARGV[7], tonumber(ARGV[8])
end
local epoch, not_after = ARGV[#ARGV - 1], ARGV[#ARGV]

local found = redis.call('MGET', KEYS[1], KEYS[2], KEYS[3])
local value, fence, record = found[1], found[2], found[3]
local refused = refusal(record, epoch, not_after)
if refused then
    return refused
end
local proposed, allowance = tonumber(ARGV[3]), tonumber(ARGV[4])
local seen = parse_fence(fence)
if seen == false then
    return redis.error_reply('FOREIGN the fence key does not hold a fence')
end
local is_held = value and value ~= ARGV[1]
local is_waited_for = is_held and id or redis.pcall('ZRANGE', KEYS[4], 0, 0)[1]
local before = 0
if is_waited_for then
    before = time_before_turn(KEYS[4], id, ticket, node_ms())
    if id and life_ms > 0 and (is_held or not value and before > 0) then
        enter_queue(KEYS[4], id, ticket, life_ms, node_ms())
    end
end
if is_held then
    return {2, redis.call('PTTL', KEYS[1]), string.sub(value, 1, 128), seen or 0, before}
end
if not value and before > 0 then
    return {3, before, seen or 0}
end

local least = least_fence(seen, allowance)
if value then
    if proposed > least and not set_fence(KEYS[2], seen, ARGV[3], ARGV[5]) then
        return redis.error_reply('FOREIGN the fence key is not a string')
    end
    local left_ms = redis.call('PTTL', KEYS[1])
    if left_ms >= 0 and left_ms < tonumber(ARGV[2]) then
        redis.call('PEXPIRE', KEYS[1], ARGV[2])
    end
    if id and is_waited_for then
        leave_queue(KEYS[4], id, ticket)
    end
    return 1
end
if proposed <= least then
    return {4, least}
end
if is_ahead(proposed, seen, allowance) then
    return {5, node_us()}
end
-- What MGET can't read looks free; NX tells: such a key is never overwritten.
if not redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) then
    return redis.error_reply('FOREIGN the key is not a string')
end
if not set_fence(KEYS[2], seen, ARGV[3], ARGV[5]) then
    redis.call('DEL', KEYS[1])  -- nothing is taken without its fence
    return redis.error_reply('FOREIGN the fence key is not a string')
end
if id and is_waited_for then
    leave_queue(KEYS[4], id, ticket)
end
return 1
