-- Shows what this node has of resources at one instant; changes nothing.
-- SPDX-License-Identifier: MIT
--
-- KEYS     none: servers take those of EVAL for keys that are written, and a user that only looks
--          may have the right to read alone (%R~ in an ACL)
-- ARGV[1]  the prefix of all keys
-- ARGV[2]  1 where locks have fences, and so there may be readers and slots; else 0
-- ARGV[3]  "all", "digests" or "forms"
-- ARGV[4..]  the keys of the resources; "all" is for one
--
-- To "all" returns {value, PTTL}, and where locks have fences behind that:
--   fence    that the node keeps for the key, as text; empty where there is none
--   time     of this node's clock, in ms; 0 where nobody waits
--   waiting  the first 1,000 entries of the queue: shared/queue.lua
--   readers  the values of those that share the key now, from the one that does for longest; of
--            more than 1,000 the first
--   k        the least number of slots that a program names; 0: none does
--   slots    of each slot that is taken its number, and the value, PTTL and fence of its key
-- Of values, which in other programs' keys have no limit, the first 400 bytes; empty where there is
-- no key. What the server refuses to read stands as its error; a set like that counts as empty.
--
-- To "digests" returns one text, 16 digits for each key. They are others after the key has got
-- another value, or is gone; after a reader has joined those that share it, or is not alive among
-- them any more; and after one of its slots was taken, is free again, or has another holder. They
-- stay the same when a holder extends its lease. What the server refuses to read counts as a value
-- of its own: this is only about change.
--
-- To "forms" returns one text, of each key a character: 0 where the value is none of a lock of this
-- library, else 1, as where there is an empty value, or an error.
--
-- The names of the other keys that are read follow from the key's: where the prefix has a hash tag
-- they lie in its slot.
-- include shared/clock.lua
local prefix, has_companions = ARGV[1], ARGV[2] == '1'
local most_waiting, most_readers, most_slots = 1000, 1000, 1000

local function companion(key, what)
    return prefix .. '{' .. key .. '}:' .. what
end

local function front_of(key)
    return redis.pcall('GETRANGE', key, 0, 399)
end

-- The members of a set that count now, at most so many; and the least number of slots that is
-- named, or the one that was set last.
local function living(set, most)
    local all, members, least = redis.pcall('ZRANGE', set, -2 * most, -1, 'WITHSCORES'), {}, 0
    local newest = 0  -- when the number was set, if it was
    local now_ms = all[1] and math.floor(node_us() / 1000)
    for i = #all - 1, 1, -2 do
        local until_ms = tonumber(all[i + 1])
        local k, set_at = string.match(until_ms < -now_ms and all[i] or '', '^k:(%d+)/?%d*@?(%d*)$')
        k, set_at = tonumber(k), tonumber(set_at) or 0
        if until_ms > now_ms and #members < most then
            members[#members + 1] = all[i]
        elseif k and set_at >= newest then
            least = (least == 0 or set_at > newest) and k or math.min(least, k)
            newest = set_at
        end
    end
    return members, least
end

local function view(key)
    local value, left_ms = front_of(key), redis.pcall('PTTL', key)
    if not has_companions then
        return {value, left_ms}
    end
    local queue, set = companion(key, 'queue'), companion(key, 'slots')
    local waiting, readers, taken, k, slots = {}, {}, {}, 0, {}
    if redis.pcall('EXISTS', queue, set) ~= 0 then  -- of most keys there are none
        waiting = redis.pcall('ZRANGE', queue, 0, most_waiting - 1)
        taken, k = living(set, most_slots)
    end
    if value == 'redlock:shared' then
        readers = living(companion(key, 'readers'), most_readers)
    end
    for _, slot in ipairs(taken) do
        local name, n = key .. '#' .. slot, #slots
        slots[n + 1], slots[n + 2] = slot, front_of(name)
        slots[n + 3], slots[n + 4] = redis.pcall('PTTL', name), front_of(companion(name, 'fence'))
    end
    return {value, left_ms, front_of(companion(key, 'fence')),
            waiting[1] and math.floor(node_us() / 1000) or 0,
        waiting.err and {} or waiting, readers,
            k, slots}
end

if ARGV[3] == 'all' then
    return view(ARGV[4])
end

if ARGV[3] == 'forms' then
    local form, out = '^' .. string.rep('[%w_-]', 22) .. '@', {}
    for i = 4, #ARGV do
        local value = redis.pcall('GETRANGE', ARGV[i], 0, 22)
        local is_foreign = type(value) == 'string' and value ~= '' and value ~= 'redlock:shared' and
            not string.find(value, form)
        out[#out + 1] = is_foreign and '0' or '1'
    end
    return table.concat(out)
end

-- Few resources have slots, and most keys that read as empty are missing: one command finds out
-- whether any of these is there.
local values, rare = {}, {}
for i = 4, #ARGV do
    values[i] = front_of(ARGV[i])
    if values[i] == '' then
        rare[#rare + 1] = ARGV[i]
    end
    if has_companions then
        rare[#rare + 1] = companion(ARGV[i], 'slots')
    end
end
local is_rare = rare[1] and redis.pcall('EXISTS', unpack(rare)) ~= 0

-- Another program's empty value is none that is missing.
local function shown_of(key, value)
    if type(value) == 'table' then
        return value.err
    end
    return value == '' and is_rare and redis.pcall('PTTL', key) ~= -2 and ' ' or value
end

-- In the order of their bytes: that of their scores is another after each extension.
local function sorted(members)
    table.sort(members)
    return table.concat(members, ' ')
end

local function slots_of(key)
    local taken = living(companion(key, 'slots'), most_slots)
    for i, slot in ipairs(taken) do
        local name = key .. '#' .. slot
        taken[i] = slot .. '=' .. shown_of(name, front_of(name))
    end
    return sorted(taken)
end

local digests = {}
for i = 4, #ARGV do
    local shown = shown_of(ARGV[i], values[i])
    if has_companions and shown == 'redlock:shared' then
        shown = shown .. ' ' .. sorted(living(companion(ARGV[i], 'readers'), most_readers))
    end
    local slots = has_companions and is_rare and slots_of(ARGV[i]) or ''
    shown = slots == '' and shown or shown .. ' ' .. slots
    digests[#digests + 1] = shown == '' and '0000000000000000' or
        string.sub(redis.sha1hex(shown), 1, 16)
end
return table.concat(digests)
