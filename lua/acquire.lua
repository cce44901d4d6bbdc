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
-- had passed,
-- or an error reply: FOREIGN where a key holds what this library never writes.
--
-- Uncontended it makes five calls: MGET, TIME, ZRANGE and two SET. TIME, which the time limit
-- needs, costs the server 13 % more processor time for an acquire, 1 to 33 % in twelve paired runs
-- (redis-server 7.0.15 on loopback, 20,000 acquires a run, one pipeline, two busy processors).
-- Three GET in place of MGET were 0 to 7 % slower in six of seven sets of paired runs, with single
-- runs 10 to 40 % apart; NX and XX made no measurable difference (redis-server 7.0.15 and 6.2.14
-- on loopback, 40,000 acquires a run).
-- include shared/clock.lua
-- include shared/queue.lua
local id, ticket, life_ms
if #ARGV == 10 then
    id, ticket, life_ms = ARGV[6], ARGV[7], tonumber(ARGV[8])
end
local epoch, not_after = ARGV[#ARGV - 1], ARGV[#ARGV]

local found = redis.call('MGET', KEYS[1], KEYS[2], KEYS[3])
local value, fence, record = found[1], found[2], found[3]
if epoch ~= '' and (not record or string.sub(record, 1, 22) ~= epoch) then
    return redis.status_reply('AMNESIAC')
end
-- A server that was frozen finds old commands in its sockets. Their client may be gone, and the
-- keys that they take would never be released.
local now = not_after ~= '' and node_us()
if now and now > tonumber(not_after) then
    return redis.status_reply('LATE')
end
local proposed, allowance = tonumber(ARGV[3]), tonumber(ARGV[4])
local seen = 0
if fence then
    seen = string.find(fence, '^%d+$') and tonumber(fence)
    if not seen or seen >= 9007199254740992 then
        return redis.error_reply('FOREIGN the fence key does not hold a fence')
    end
end
local is_held = value and value ~= ARGV[1]
local is_waited_for = is_held and id or redis.pcall('ZRANGE', KEYS[4], 0, 0)[1]
local before = 0
if is_waited_for then
    local ms = now and math.floor(now / 1000) or node_ms()
    before = time_before_turn(KEYS[4], id, ticket, ms)
    if id and life_ms > 0 and (is_held or not value and before > 0) then
        enter_queue(KEYS[4], id, ticket, life_ms, ms)
    end
end
if is_held then
    return {2, redis.call('PTTL', KEYS[1]), string.sub(value, 1, 128), seen, before}
end
if not value and before > 0 then
    return {3, before, seen}
end

-- A missing fence counts as a time near now: to write an older one would lower it.
local floor = seen
if not fence then
    now = now or node_us()
    floor = now - allowance
end

-- What MGET can't read looks free and missing; NX tells: such a key is never overwritten.
local how = fence and 'XX' or 'NX'
if value then
    if proposed > floor and not redis.call('SET', KEYS[2], ARGV[3], how, 'PX', ARGV[5]) then
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
if proposed <= floor then
    return {4, floor}
end
if not fence and proposed > now + allowance then
    return {5, now}
end
if not redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) then
    return redis.error_reply('FOREIGN the key is not a string')
end
if not redis.call('SET', KEYS[2], ARGV[3], how, 'PX', ARGV[5]) then
    redis.call('DEL', KEYS[1])  -- nothing is taken without its fence
    return redis.error_reply('FOREIGN the fence key is not a string')
end
if id and is_waited_for then
    leave_queue(KEYS[4], id, ticket)
end
return 1
