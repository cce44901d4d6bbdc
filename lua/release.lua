-- Gives a key back if it is ours; knows nothing of other nodes and of waiting.
-- SPDX-License-Identifier: MIT
--
-- KEYS[1]  the key
-- ARGV[1]  the owner value
--
-- Where commands of the lease may still lie in a broken connection, also
-- KEYS[2]  its fence
-- KEYS[3]  the node record
-- ARGV[2]  the highest fence that was proposed to this node for the lease
-- ARGV[3]  how far a fence may lie from this node's clock where its own is missing, in us
-- ARGV[4]  how long the fence lives, in ms
-- ARGV[5]  the epoch that the node record had in the handshake (22 characters, as in node.lua);
--          shorter where there is none to compare: with the guard off, and from a replica, which may
--          have the same data when it is a master again
-- and the fence is raised, so that none of them can take the key again.
--
-- Returns 1 if the key was deleted, 0 if it holds another value, -1 if there is no key, or the
-- error reply WRONGTYPE where it is not a string: then, too, the fence is raised. A fence that
-- this library did not write is left alone. What is written where a fence is missing may lie below
-- one that a new master has forgotten: it has no vote for ttl_max, after which every fence that
-- anybody proposes is above both.
local function raise_fence()
    local found = redis.call('MGET', KEYS[2], KEYS[3])
    local fence, record = found[1], found[2]
    if #ARGV[5] == 22 and (not record or string.sub(record, 1, 22) ~= ARGV[5]) then
        return  -- what was sent under another epoch can't take anything any more
    end
    local highest = tonumber(ARGV[2])
    if fence then
        local seen = string.find(fence, '^%d+$') and tonumber(fence)
        if seen and seen < highest then
            redis.call('SET', KEYS[2], ARGV[2], 'PX', ARGV[4])
        end
        return
    end
    -- A missing fence counts as a time near now: to write an older one would lower it.
    local time = redis.call('TIME')
    if highest > time[1] * 1000000 + time[2] - tonumber(ARGV[3]) then
        redis.call('SET', KEYS[2], ARGV[2], 'NX', 'PX', ARGV[4])
    end
end

local held = redis.pcall('GET', KEYS[1])
local answer = held and 0 or -1
if type(held) == 'table' then
    answer = held
elseif held == ARGV[1] then
    redis.call('DEL', KEYS[1])  -- before anything that a node without memory would refuse
    answer = 1
end
if #KEYS == 3 then
    raise_fence()
end
return answer
