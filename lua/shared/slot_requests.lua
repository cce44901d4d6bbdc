-- Requests for one of the slots of a resource; included in requests.lua.
-- SPDX-License-Identifier: MIT
-- include shared/slots.lua
local now_ms = math.floor(node_us() / 1000)

local function note_taken(set, slot, ttl, k)
    local until_ms = now_ms + ttl
    local known = redis.pcall('ZSCORE', set, slot)
    if type(known) == 'string' and tonumber(known) > until_ms then
        until_ms = tonumber(known)
    end
    redis.pcall('ZADD', set, string.format('%.0f', until_ms), slot)
    if k then
        redis.pcall('ZADD', set, string.format('-%.0f', now_ms + fence_life), 'k:' .. k)
        redis.pcall('PEXPIRE', set, fence_life)
        redis.pcall('ZREMRANGEBYSCORE', set, '0', now_ms)
        redis.pcall('ZREMRANGEBYSCORE', set, string.format('-%.0f', now_ms), '(0')
    end
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
    local counted = is_ours and tonumber(k) or smallest_number(set, tonumber(k), now_ms)
    local is_held = not is_ours and (current or tonumber(slot) >= counted)
    local is_waited_for = is_held or has_queues and redis.pcall('ZRANGE', queue, 0, 0)[1]
    local before, taken, size, first = 0
    if is_waited_for and not is_ours then
        taken, size, first = taken_slots(set, counted, now_ms)
        taken[slot] = taken[slot] or is_held
        -- So many of those before it may have the others.
        local passes = math.max(counted - size - 1, 0)
        before = time_to_wait(queue, id, ticket, life, is_held, true, false, passes)
    end
    if is_held or before > 0 then
        local left = size < counted and 0 or first and math.max(first - now_ms, 0) or 0
        local seen = is_missing and 0 or least
        return {6, left, string.sub(current or '', 1, 128), seen, before, map_of_free(taken, counted),
                counted}
    end
    local answer
    if is_ours then
        local failure = tonumber(fence) > least and put(fence_key, fence, fence_life)
        answer = failure or prolong(key, ttl)
    else
        answer = take(key, fence_key, value, ttl, fence, least, is_missing)
    end
    if answer == 1 then
        note_taken(set, slot, ttl, k)
        if id and is_waited_for then
            queues().leave(queue, id, ticket)
        end
    end
    return answer
end

local function extend_slot(i, value, ttl, fence, slot)
    local answer = extend(i, value, ttl, fence)
    if answer == 1 then
        note_taken(KEYS[next_companion], slot, ttl)
    end
    return answer
end

local function release_slot(i, value, slot, k, fence, id, ticket, life, keep)
    local set = KEYS[next_companion]
    local raises = fence and fence ~= ''
    local answer, is_free, current = give_back(i, value, true, keep, raises)
    local free = 0
    if is_free then
        redis.pcall('ZREM', set, slot)
    elseif answer == 1 then
        redis.pcall('ZADD', set, string.format('%.0f', now_ms + keep), slot)
    end
    if has_queues then
        local counted = smallest_number(set, tonumber(k), now_ms)
        local _, size = taken_slots(set, counted, now_ms)
        free = counted - size
    end
    leave_queue_of(i, current, is_free, id, ticket, life, free)
    return raises and raise_fence(i, fence) or answer
end
