-- Takes a key from those that hold it, so that they can't take it again; knows no other node.
-- SPDX-License-Identifier: MIT
--
-- KEYS[1]  the key
-- KEYS[2]  its fence; this one and the rest are missing where the lock is a plain one
-- KEYS[3]  the set of the values that may not take it again
-- KEYS[4]  the queue of its waiters
-- KEYS[5]  the set of its readers; of a slot the set of the slots
-- ARGV[1]  the fence that is raised at least to this
-- ARGV[2]  by how much this node's clock is behind the time that fences go by, in us
-- ARGV[3]  for how long a revoked value counts, in ms
-- ARGV[4]  the prefix of all keys
-- ARGV[5]  the slot of which that is the key; empty where it is none
-- ARGV[6..]  the values, or the first 400 bytes of them, that are to be revoked
--
-- Returns {revoked, holders}: the values that held the key and do not any more; the first 400 bytes
-- of the values that hold it now, at most 1,000. An error reply WRONGTYPE where the key holds no
-- string.
--
-- A key that says that it is shared, and has no readers, is held by that value itself.
--
-- A revoked holder relies on its lease until it extends it next. Then the key is another's, or is
-- gone: requests.lua refuses to take it again for a value of that set, whatever fence comes with
-- it.
-- The fence keeps out what its earlier commands still have to say.
-- include shared/clock.lua
local lift = ARGV[2]
-- include shared/fence_life.lua
-- include shared/queue.lua
-- include shared/revoked.lua
-- include shared/slots.lua
local key, fence_key, _, queue, set = unpack(KEYS)
local slot = ARGV[5]
local marker = 'redlock:shared'
local most_holders = 1000

-- All of a value that this library writes, and no more of another program's, which has no limit.
local current = redis.pcall('GETRANGE', key, 0, 399)
if type(current) == 'table' then
    return current
elseif current == '' then
    current = redis.call('EXISTS', key) == 1 and current
end
local wanted = {}
for i = 6, #ARGV do
    wanted[ARGV[i]] = true
end

-- Also where the key is not held: a lease of the others' grants may come back to this node. Before
-- anything is deleted: where the server refuses this, a revoked holder could take the key again.
local seen = 0
if fence_key then
    local text = redis.pcall('GET', fence_key)
    seen = type(text) == 'string' and string.find(text, '^%d+$') and tonumber(text) or 0
    local failure = note_revoked(fence_key, ARGV[3], unpack(ARGV, 6))
    if failure then
        return failure
    elseif type(text) ~= 'table' and tonumber(ARGV[1]) > seen then
        -- Others may hold the key as long as before.
        local lives_ms = redis.call('PTTL', fence_key)
        redis.call('SET', fence_key, ARGV[1], 'PX', life_of(ARGV[1], lives_ms))
        seen = tonumber(ARGV[1])
    end
end

local revoked, holders, is_free = {}, {}, false
local function delete()
    redis.call('DEL', key)
    is_free = true
end

local alive = {}
if current == marker and set and slot == '' then
    alive = redis.call('ZRANGEBYSCORE', set, string.format('%.0f', node_ms() + 1), '+inf')
end
if alive[1] then
    for _, value in ipairs(alive) do
        if wanted[value] then
            redis.call('ZREM', set, value)
            revoked[#revoked + 1] = value
        elseif #holders < most_holders then
            holders[#holders + 1] = value
        end
    end
    if revoked[1] and not holders[1] then
        delete()
        redis.call('DEL', set)
    elseif holders[1] then
        redis.call('ZADD', set, string.format('-%.0f', seen), 'base')
    end
elseif current and wanted[current] then
    delete()
    revoked[1] = current
    if slot ~= '' then
        redis.pcall('ZREM', set, slot)
    end
elseif current then
    holders[1] = current
end
-- For how many there is room now. Where the server does not tell, for one.
local function free_slots()
    local terms = named_terms(set, node_ms())
    local k = not terms.err and count_by(terms, '1000')
    local taken, size = taken_slots(set, k or 0, node_ms())
    return k and taken and k - size or 1
end

if fence_key and is_free then
    wake_first(queue, ARGV[4], key, nil, false, slot ~= '' and free_slots() or nil)
end
return {revoked, holders}
