-- Gives a key back if it is ours, and wakes the first who waits; knows nothing of other nodes.
-- SPDX-License-Identifier: MIT
--
-- KEYS[1]  the key
-- ARGV[1]  the owner value
--
-- Where the key is used with fences, also
-- KEYS[2]  the queue of its waiters
-- ARGV[2]  the key prefix
-- ARGV[3..5]  of one that waits, or had waited: its id, its ticket, and how long its entry lives
--          from now on, in ms, or 0 where it waits no more; an empty id for anybody else
--
-- Where commands of the lease may still lie in a broken connection, also
-- KEYS[3]  its fence
-- KEYS[4]  the node record
-- ARGV[6]  the highest fence that was proposed to this node for the lease
-- ARGV[7]  how far a fence may lie from this node's clock where its own is missing, in us
-- ARGV[8]  how long the fence lives, in ms
-- ARGV[9]  the epoch that the node record had in the handshake (22 characters, as in node.lua);
--          shorter where there is none to compare: with the guard off, and from a replica, which may
--          have the same data when it is a master again
-- and the fence is raised, so that none of them can take the key again.
--
-- Returns 1 if the key was deleted, 0 if it holds another value, -1 if there is no key, or the
-- error reply WRONGTYPE where it is not a string: then, too, the fence is raised. A fence that
-- this library did not write is left alone. What is written where a fence is missing may lie below
-- one that a new master has forgotten: it has no vote for ttl_max, after which every fence that
-- anybody proposes is above both.
-- include shared/clock.lua
-- include shared/fence.lua
-- include shared/queue.lua
local function raise_fence()
    local found = redis.call('MGET', KEYS[3], KEYS[4])
    local fence, record = found[1], found[2]
    if #ARGV[9] == 22 and not has_epoch(record, ARGV[9]) then
        return  -- what was sent under another epoch can't take anything any more
    end
    local seen = parse_fence(fence)
    if seen ~= false and tonumber(ARGV[6]) > least_fence(seen, tonumber(ARGV[7])) then
        set_fence(KEYS[3], seen, ARGV[6], ARGV[8])
    end
end

-- Whether the key is free, or held by a value that this library does not write: no release will
-- wake a waiter then, so the first in the queue has to look by itself.
local function is_to_be_looked_after(value)
    return not value or
        type(value) == 'string' and not string.find(value, '^' .. string.rep('[%w_-]', 22) .. '@')
end

local held = redis.pcall('GET', KEYS[1])
local answer = held and 0 or -1
if type(held) == 'table' then
    answer = held
elseif held == ARGV[1] then
    redis.call('DEL', KEYS[1])  -- before anything that a node without memory would refuse
    answer = 1
end
if #KEYS >= 2 then
    local id, ticket = ARGV[3], ARGV[4]
    if id == '' then
        id = nil
    end
    local is_free = answer == 1
    if id and ARGV[5] == '0' then
        -- This waiter may have been woken without taking the key, or may be the one that looks: the
        -- next in the queue is woken in its place.
        is_free = leave_queue(KEYS[2], id, ticket) and is_to_be_looked_after(held) or is_free
    elseif id then
        enter_queue(KEYS[2], id, ticket, tonumber(ARGV[5]), node_ms())
    end
    local first = is_free and redis.pcall('ZRANGE', KEYS[2], 0, 0)
    if first and first[1] then
        wake_first(KEYS[2], ARGV[2], KEYS[1], id)
    end
end
if #KEYS == 4 then
    raise_fence()
end
return answer
