-- Tells in a few bytes what this node has of the resources that a client watches; changes nothing.
-- SPDX-License-Identifier: MIT
--
-- KEYS     the keys of the resources
-- ARGV[1]  the prefix of all keys
-- ARGV[2]  1 where locks have fences, and so there may be readers and slots; else 0
--
-- Returns one text, 16 digits for each key. They are others after the key has got another value, or
-- is gone; after a reader has joined those that share it, or is not alive among them any more; after
-- one of its slots was taken, is free again, or has another holder. They stay the same when a holder extends its lease. What the server refuses to read
-- counts as a value of its own: this is only about change.
--
-- The sets of the readers and slots and the keys of the slots are read, too. Their names
-- follow from the key's, so they are not sent: where the prefix has a hash tag they lie in the slot
-- of the key.
-- include shared/clock.lua
local prefix, has_companions = ARGV[1], ARGV[2] == '1'

local function companion(key, what)
    return prefix .. '{' .. key .. '}:' .. what
end

-- The first bytes, since foreign values have no limit. Empty where there is no key.
local function value_of(key)
    local value = redis.pcall('GETRANGE', key, 0, 511)
    if type(value) == 'table' then
        return value.err
    elseif value == '' and redis.pcall('PTTL', key) ~= -2 then
        return ' '  -- another program's empty value
    end
    return value
end

-- The members of a set that are alive, in the order of their bytes: that of their scores is another
-- after each extension.
local function living(set)
    local now = string.format('(%.0f', math.floor(node_us() / 1000))
    local all = redis.pcall('ZRANGEBYSCORE', set, now, '+inf')
    if all.err then
        return {all.err}
    end
    table.sort(all)
    return all
end

local function slots_of(key)
    local taken = living(companion(key, 'slots'))
    for i, slot in ipairs(taken) do
        taken[i] = slot .. '=' .. value_of(key .. '#' .. slot)
    end
    return table.concat(taken, ' ')
end

local function readers_of(key)
    return table.concat(living(companion(key, 'readers')), ' ')
end

-- Few resources have slots: the server is asked once whether any of these has.
local sets = {}
for i, key in ipairs(KEYS) do
    sets[i] = companion(key, 'slots')
end
local has_slots = has_companions and redis.pcall('EXISTS', unpack(sets)) ~= 0

local answer = {}
for i, key in ipairs(KEYS) do
    local shown = value_of(key)
    if has_companions and shown == 'redlock:shared' then
        shown = shown .. ' ' .. readers_of(key)
    end
    if has_slots then
        local slots = slots_of(key)
        shown = slots == '' and shown or shown .. ' ' .. slots
    end
    answer[i] = shown == '' and '0000000000000000' or string.sub(redis.sha1hex(shown), 1, 16)
end
return table.concat(answer)
