-- The requests from the first one on that is not plain; included in requests.lua.
-- SPDX-License-Identifier: MIT

-- What the keys and the fences of these requests hold: as MGET found it, false where that is
-- nothing, and as it was changed since; nil for a key that is released and will be deleted with the
-- others.
local stored = {}
for j, text in ipairs(redis.call('MGET', unpack(KEYS, 2 * i, 2 * count + 1))) do
    local name = KEYS[2 * i - 1 + j]
    if not released[name] then
        stored[name] = text
    end
end

local function fence_to_exceed(name)
    return fence_bound(name, stored[name])
end

-- Returns nil where it is done, and otherwise an error.
local function put(name, text, ttl_ms)
    local done
    if stored[name] then
        done = redis.pcall('SET', name, text, 'PX', ttl_ms)
    else
        done = redis.pcall('SET', name, text, 'NX', 'PX', ttl_ms)
    end
    if not done then
        return redis.error_reply('FOREIGN ' .. name .. ' does not hold a string')
    elseif done.err then
        return done
    end
    stored[name] = text
end

-- Raises the fence of a key that somebody may hold: it lives for `least_ms`, and no shorter than
-- before. Returns nil where it is done, and otherwise an error.
local function raise(fence_key, fence, least_ms)
    local lives_ms = redis.pcall('PTTL', fence_key)
    if type(lives_ms) == 'table' then
        return lives_ms
    end
    return put(fence_key, fence, life_of(fence, math.max(lives_ms, least_ms)))
end

-- Takes a free key under its fence.
local function take(key, fence_key, value, ttl, fence, least, is_missing)
    local answer = refuse_fence(fence, least, is_missing) or
        write_both(key, fence_key, value, ttl, fence, not stored[fence_key])
    if answer == 1 then
        stored[key], stored[fence_key] = value, fence
    end
    return answer
end

local queue_rules

local function queues()
    if not queue_rules then
-- include shared/queue.lua
        queue_rules = {now = node_ms, time_before_turn = time_before_turn, enter = enter_queue,
                       leave = leave_queue, wake_first = wake_first,
                       is_looked_after = is_to_be_looked_after}
    end
    return queue_rules
end

-- For how long others may stand before it, or the server's error where that decides. It is entered
-- where it has to wait.
local function time_to_wait(queue, id, ticket, life, is_held, is_free, shares, room)
    local before = queues().time_before_turn(queue, id, ticket, queues().now(), shares, room)
    if type(before) == 'table' then
        return is_held and 0 or before
    end
    if id and life ~= '0' and (is_held or is_free and before > 0) then
        queues().enter(queue, id, ticket, tonumber(life), queues().now())
        has_queues = true
    end
    return before
end

local reader_rules, slot_rules
local next_companion = 3 * count + 1  -- of KEYS: the set of the latest request that has one

local revoked_rules

local function revoked()
    if not revoked_rules then
-- include shared/revoked.lua
        revoked_rules = {refuse = refuse_revoked, note = note_revoked}
    end
    return revoked_rules
end

-- What is left to do for a request that gives a key back: its waiter leaves the queue, or stays in
-- it, and the next is woken where the key is free: as many as there are free slots.
local function leave_queue_of(i, current, is_free, id, ticket, life, free_slots)
    local key, queue = KEYS[2 * i], KEYS[2 * count + 1 + i]
    if id == '' then
        id = nil
    elseif life == '0' then
        -- This waiter may have been woken without taking the key, or may be the one that looks: the
        -- next in the queue is woken in its place.
        local has_left = queues().leave(queue, id, ticket)
        is_free = has_left and (free_slots or queues().is_looked_after(current)) or is_free
    elseif id then
        queues().enter(queue, id, ticket, tonumber(life), queues().now())
        has_queues = true
    end
    if is_free and has_queues and free_slots ~= 0 then
        local is_shared = stored[key] == 'redlock:shared'
        queues().wake_first(queue, string.sub(KEYS[1], 1, -13), key, id, is_shared, free_slots)
    end
end

-- Whether what was sent before may still come and take something: not under another epoch.
local function may_be_late()
    return has_epoch or #epoch < 22
end

-- Returns nil where it is done, and otherwise an error.
local function raise_fence(i, fence)
    if not may_be_late() then
        return nil
    end
    local fence_key, failure = KEYS[2 * i + 1], nil
    local least = fence_to_exceed(fence_key)
    if least and tonumber(fence) > least then
        failure = raise(fence_key, fence, 0)
    end
    return failure and not string.find(failure.err, '^FOREIGN') and failure or nil
end

-- Returns the answer, whether the key is free by it, and what it held. `at_once`: not with the
-- others that this script deletes in the end.
local function give_back(i, value, at_once, keep)
    local key = KEYS[2 * i]
    local current = stored[key]
    if current == false then
        current = redis.pcall('GET', key)  -- which tells what MGET can't read
    end
    if current ~= value then
        return type(current) == 'table' and current or current and 0 or -1, false, current
    elseif keep and keep ~= '' then
-- include shared/keep.lua
        local answer = keep_for(key, value, keep)
        stored[key] = answer == 1 and value .. '#kept' or value
        return answer, false, current
    elseif at_once or has_queues or has_several or count == 1 then
        -- A server without memory refuses the fence's SET unless something was written before, and
        -- a waiter gets a message only about a key that is gone.
        local answer = redis.pcall('DEL', key)
        stored[key] = answer ~= 1 and value
        return answer, answer == 1, current
    end
    released[#released + 1], released[key], stored[key] = key, n, nil
    return 1, true, current
end

-- Of a key that is gone.
local function shorten_fence(i, is_long)
    if not is_long or is_long == '' then
        return
    end
    local fence, is_missing = fence_to_exceed(KEYS[2 * i + 1])
    if fence and not is_missing then
        redis.pcall('PEXPIRE', KEYS[2 * i + 1], life_of(fence, 0))
    end
end

-- include shared/several.lua
-- What every acquire of readers, and of slots, does. These differ in `kind`:
--   compare(i, m, value, slot, k)  whether all keys are ours already, whether others have
--                                  one, and its value; nil and the error where the server does not
--                                  tell
--   wait(queue, id, ticket, life, is_held, is_ours, m, k)      as time_to_wait
--   refuse(i, m, value, current, seen, before, is_held, slot, k)
--                                  the answer where others have one, or wait
--   take(i, m, is_ours, value, ttl, fence, least, is_missing, slot, k)
--                                  takes them, or prolongs what is ours and raises the fences, and
--                                  notes that
local function acquire_as(kind, i, m, value, ttl, fence, id, ticket, life, slot, k)
    local queue = KEYS[2 * count + 1 + i]
    local least, is_missing = fences_to_exceed(i, m)
    if not least then
        return is_missing
    end
    local is_ours, is_held, current = kind.compare(i, m, value, slot, k)
    if is_ours == nil then
        return is_held
    end
    local is_waited_for = is_held and id or has_queues and next(redis.pcall('ZRANGE', queue, 0, 0))
    local before = is_waited_for and kind.wait(queue, id, ticket, life, is_held, is_ours, m, k) or 0
    if type(before) == 'table' then
        return before
    elseif is_held or not is_ours and before > 0 then
        local seen = is_missing and 0 or least
        return kind.refuse(i, m, value, current, seen, before, is_held, slot, k)
    end
    local answer = kind.take(i, m, is_ours, value, ttl, fence, least, is_missing, slot, k)
    if answer == 1 and id and is_waited_for then
        queues().leave(queue, id, ticket)
    end
    return answer
end

local function readers()
    if not reader_rules then
-- include shared/readers.lua
        reader_rules = {acquire = share, extend = extend_share, release = release_share}
    end
    next_companion = next_companion + 1
    return reader_rules
end

local function slots()
    if not slot_rules then
-- include shared/slot_requests.lua
        slot_rules = {acquire = acquire_slots, extend = extend_slots, release = release_slots,
                      name = name_slots}
    end
    next_companion = next_companion + 1
    return slot_rules
end

local verbs = {acquire = 3, await = 6, extend = 3, hold = 3, release = 1, leave = 8, name = 3}
local exclusive = {acquire = acquire, extend = extend, release = release}

-- What does a request, how many words follow, whether it gives keys back, and how many keys it is
-- about. A word is a verb, and a suffix of the kind, whose requests have more words. Each rule is
-- called with the number of the first key, how many keys there are, and the words.
local function find_rules(what)
    local verb, suffix = string.match(what, '^(%l+)_?(%l*)$')
    local words, rules, m = verbs[verb], exclusive, 1
    if suffix == 'share' then
        rules = readers()
    elseif suffix == 'slot' or suffix == 'slots' then
        rules, words = slots(), words + 2
        if suffix == 'slots' then
            at = at + 1
            m = tonumber(ARGV[at])
        end
    elseif suffix == 'all' then
        at = at + 1
        m = tonumber(ARGV[at])
    elseif suffix ~= '' then
        error('no kind of lock has requests with _' .. suffix)
    end
    if verb == 'release' or verb == 'leave' then
        return rules.release, words, true, m
    elseif verb ~= 'extend' and verb ~= 'hold' then
        return verb == 'name' and rules.name or rules.acquire, words, false, m
    end
    -- The fence lives as long as the key. Only some renewals prolong it, for those to come, too.
    return function(i, _, value, ttl, ...)
        local answer = rules.extend(i, m, value, ttl, ...)
        local prolongs = is_extended(answer) and (answer ~= 1 or verb == 'hold')
        for j = i, prolongs and i + m - 1 or 0 do
            prolong(KEYS[2 * j + 1], 6 * ttl)
        end
        return answer
    end, words, false, m
end
