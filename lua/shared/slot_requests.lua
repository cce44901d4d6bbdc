-- Requests for one of the slots of a resource; included in requests.lua.
-- SPDX-License-Identifier: MIT
-- include shared/slots.lua
local now_ms = math.floor(node_us() / 1000)

-- Known of each set, so that the script asks the server once where many requests want a slot of one
-- resource: the smallest number of slots that any program has `named`; by its text, whether a
-- request of this script names a number; which of the first `counted` slots are `taken`, each until
-- when, and how many (`size`); `has_expiry`.
-- include shared/known.lua

local function count_slots(set, k)
    local of = about(set)
    of.named = of.named or smallest_number(set, math.huge, now_ms)
    return math.min(of.named, tonumber(k))
end

local function look_at_slots(set, counted)
    local of = about(set)
    if not of.taken or of.counted ~= counted then
        of.counted = counted
        of.taken, of.size = taken_slots(set, counted, now_ms)
    end
    return of
end

local function note_free(set, slot)
    local of = about(set)
    redis.pcall('ZREM', set, slot)
    if of.taken and of.taken[slot] then
        of.taken[slot] = nil
        of.size = of.size - 1
    end
end

local function note_taken(set, slot, until_ms)
    local of = about(set)
    redis.pcall('ZADD', set, string.format('%.0f', until_ms), slot)
    if not of.has_expiry then
        of.has_expiry = type(redis.pcall('PEXPIRE', set, fence_life)) == 'number'
    end
    if of.taken and tonumber(slot) < of.counted then
        of.size = of.size + (of.taken[slot] and 0 or 1)
        of.taken[slot] = until_ms
    end
end

-- Of a slot that was ours before. It may have been taken for longer.
local function note_prolonged(set, slot, until_ms)
    local before = redis.pcall('ZSCORE', set, slot)
    note_taken(set, slot, math.max(until_ms, type(before) == 'string' and tonumber(before) or 0))
end

-- Programs that name different numbers learn of it; what no longer counts goes.
local function note_count(set, k)
    local of = about(set)
    if of[k] then
        return
    end
    of[k], of.has_expiry = true, true
    of.named = of.named and math.min(of.named, tonumber(k))
    redis.pcall('ZADD', set, string.format('-%.0f', now_ms + fence_life), 'k:' .. k)
    redis.pcall('PEXPIRE', set, fence_life)
    redis.pcall('ZREMRANGEBYSCORE', set, '0', now_ms)
    redis.pcall('ZREMRANGEBYSCORE', set, string.format('-%.0f', now_ms), '(0')
end

local function acquire_slot(i, value, ttl, fence, slot, k, id, ticket, life)
    local key, fence_key, queue = KEYS[2 * i], KEYS[2 * i + 1], KEYS[2 * count + 1 + i]
    local set = KEYS[next_companion]
    local least, is_missing, foreign = fence_to_exceed(fence_key)
    if foreign then
        return foreign
    end
    local current = stored[key]
    local is_ours = current == value
    local counted = is_ours and tonumber(k) or count_slots(set, k)
    local is_held = not is_ours and (current or tonumber(slot) >= counted)
    local is_waited_for = is_held or has_queues and redis.pcall('ZRANGE', queue, 0, 0)[1]
    local before, seen_slots = 0, nil
    if is_waited_for and not is_ours then
        seen_slots = look_at_slots(set, counted)
        -- So many of those before it may have the others.
        local passes = math.max(counted - seen_slots.size - 1, 0)
        before = time_to_wait(queue, id, ticket, life, is_held, true, false, passes)
    end
    if is_held or before > 0 then
        local taken, size = seen_slots.taken, seen_slots.size
        local map = map_of_free(taken, counted, is_held and slot)
        return {6, time_to_first(taken, size, counted, now_ms), string.sub(current or '', 1, 128),
                is_missing and 0 or least, before, map, counted}
    end
    local answer
    if is_ours then
        local failure = tonumber(fence) > least and put(fence_key, fence, fence_life)
        answer = failure or prolong(key, ttl)
    else
        answer = take(key, fence_key, value, ttl, fence, least, is_missing)
    end
    if answer == 1 then
        note_count(set, k)
        local note = is_ours and note_prolonged or note_taken
        note(set, slot, now_ms + ttl)
        if id and is_waited_for then
            queues().leave(queue, id, ticket)
        end
    end
    return answer
end

local function extend_slot(i, value, ttl, fence, slot, k)
    local answer = extend(i, value, ttl, fence)
    if answer == 1 then
        note_count(KEYS[next_companion], k)
        note_prolonged(KEYS[next_companion], slot, now_ms + ttl)
    end
    return answer
end

local function release_slot(i, value, slot, k, fence, id, ticket, life, keep)
    local set = KEYS[next_companion]
    local raises = fence and fence ~= ''
    local answer, is_free, current = give_back(i, value, true, keep, raises)
    local free = 0
    if is_free then
        note_free(set, slot)
    elseif answer == 1 then
        note_taken(set, slot, now_ms + keep)
    end
    if has_queues then
        local counted = count_slots(set, k)
        free = counted - look_at_slots(set, counted).size
    end
    leave_queue_of(i, current, is_free, id, ticket, life, free)
    return raises and raise_fence(i, fence) or answer
end
