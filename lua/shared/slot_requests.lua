-- Requests for one of the slots of a resource; included in general.lua.
-- SPDX-License-Identifier: MIT
-- include shared/slots.lua
local now_ms = math.floor(node_us() / 1000)

-- Known of each set, so that the script asks the server once where many requests want a slot of one
-- resource: the smallest number of slots that any program has `named`, and the `longest` period; by
-- their text, whether a request of this script names a number, and until when that counts; which of
-- the first `counted` slots are `taken`, each until when, and how many (`size`); until when the set
-- lives (`until_ms`).
-- include shared/known.lua

-- Of "5", or of "5/60000".
local function number_in(k)
    return tonumber(string.match(k, '^%d+'))
end

-- How many there are, and the longest period; or the server's error.
local function count_slots(set, k)
    local of = about(set)
    if not of.named then
        local named, longest = named_terms(set, math.huge, now_ms)
        if type(named) == 'table' then
            return named
        end
        of.named, of.longest = named, longest
    end
    return math.min(of.named, number_in(k)), of.longest
end

-- Or nil, and the server's error.
local function look_at_slots(set, counted)
    local of = about(set)
    if not of.taken or of.counted ~= counted then
        local taken, size = taken_slots(set, counted, now_ms)
        if not taken then
            return nil, size
        end
        of.counted, of.taken, of.size = counted, taken, size
    end
    return of
end

-- How many may be woken; none where the server does not tell.
local function count_free(set, k)
    local counted = count_slots(set, k)
    local of = type(counted) == 'number' and look_at_slots(set, counted)
    return of and counted - of.size or 0
end

local function note_free(set, slot)
    local of = about(set)
    redis.pcall('ZREM', set, slot)
    if of.taken and of.taken[slot] then
        of.taken[slot] = nil
        of.size = of.size - 1
    end
end

-- Until when the last of what is in the set counts: `k:` members have their ends below zero.
local function last_end(set)
    local first = redis.pcall('ZRANGE', set, 0, 0, 'WITHSCORES')
    local last = redis.pcall('ZRANGE', set, -1, -1, 'WITHSCORES')
    return math.max(-(tonumber(first[2]) or 0), tonumber(last[2]) or 0)
end

-- The set lives as long as the last of what is in it. Called after each write to it.
local function keep_set(set, until_ms)
    local of = about(set)
    if not of.until_ms then
        local left_ms = redis.pcall('PTTL', set)
        if type(left_ms) == 'number' and left_ms >= 0 then
            of.until_ms = now_ms + left_ms
        else
            of.until_ms, until_ms = 0, math.max(until_ms, last_end(set))  -- PERSIST
        end
    end
    if of.until_ms < until_ms then
        redis.pcall('PEXPIRE', set, string.format('%.0f', until_ms - now_ms))
        of.until_ms = until_ms
    end
end

local function note_taken(set, slot, until_ms)
    local of = about(set)
    redis.pcall('ZADD', set, string.format('%.0f', until_ms), slot)
    keep_set(set, until_ms)
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

-- As long as the slot is taken: meanwhile no program that names another number may take one beyond
-- it. And for a little longer, so that programs that name different numbers learn of it. What no
-- longer counts goes. Returns nil where it is noted, and otherwise the server's error.
local function note_count(set, k, until_ms)
    local of = about(set)
    until_ms = math.max(until_ms, now_ms + grace_ms)
    if of[k] and of[k] >= until_ms then
        return nil
    end
    local before = redis.pcall('ZSCORE', set, 'k:' .. k)
    if type(before) == 'table' then
        return before
    end
    until_ms = math.max(until_ms, before and -tonumber(before) or 0)
    local done = redis.pcall('ZADD', set, string.format('-%.0f', until_ms), 'k:' .. k)
    if type(done) == 'table' then
        return done
    end
    of[k] = until_ms
    if of.named then
        of.named = math.min(of.named, number_in(k))
        of.longest = math.max(of.longest, tonumber(string.match(k, '/(%d+)')) or 0)
    end
    keep_set(set, until_ms)
    redis.pcall('ZREMRANGEBYSCORE', set, '0', now_ms)
    redis.pcall('ZREMRANGEBYSCORE', set, string.format('-%.0f', now_ms), '(0')
    return nil
end

-- Of a lease that was given back long before its end: no longer than another slot is taken.
local function shorten_count(set, k)
    local of = about(set)
    local last = redis.pcall('ZRANGE', set, -1, -1, 'WITHSCORES')
    local before = redis.pcall('ZSCORE', set, 'k:' .. k)
    if last.err or type(before) ~= 'string' then
        return
    end
    local until_ms = math.max(now_ms + grace_ms, tonumber(last[2]) or 0)
    if -tonumber(before) > until_ms then
        redis.pcall('ZADD', set, string.format('-%.0f', until_ms), 'k:' .. k)
        of[k] = until_ms
        until_ms = math.max(until_ms, last_end(set))
        redis.pcall('PEXPIRE', set, string.format('%.0f', until_ms - now_ms))
        of.until_ms = until_ms
    end
end

local function compare_slot(current, value, slot, k)
    local set, is_ours = KEYS[next_companion], current == value
    local counted = is_ours and number_in(k) or count_slots(set, k)
    if type(counted) == 'table' then
        return nil, counted
    end
    local is_held = not is_ours and (current or tonumber(slot) >= counted)
    return is_ours, is_held
end

-- So many of those before it may have the other slots.
local function wait_for_slot(queue, id, ticket, life, is_held, is_ours, k)
    if is_ours then
        return 0
    end
    local set = KEYS[next_companion]
    local counted = count_slots(set, k)
    local seen_slots, failure = look_at_slots(set, counted)
    if failure then
        return failure
    end
    local passes = math.max(counted - seen_slots.size - 1, 0)
    return time_to_wait(queue, id, ticket, life, is_held, true, false, passes)
end

local function refuse_slot(_, current, seen, before, is_held, slot, k)
    local set = KEYS[next_companion]
    local counted = count_slots(set, k)
    local seen_slots, failure = look_at_slots(set, counted)
    if failure then
        return failure
    end
    local taken, size = seen_slots.taken, seen_slots.size
    local map = map_of_free(taken, counted, is_held and slot)
    return {6, time_to_first(taken, size, counted, now_ms), string.sub(current or '', 1, 400),
            seen, before, map, counted}
end

local function take_slot(i, is_ours, value, ttl, fence, least, is_missing, slot, k)
    local set, key = KEYS[next_companion], KEYS[2 * i]
    local answer = take_keys(i, 1, value, ttl, fence, least, is_missing, true)
    local failure = answer == 1 and note_count(set, k, now_ms + ttl)
    if failure then
        if not is_ours then
            redis.pcall('DEL', key)  -- another program would count more slots than there are
            stored[key] = false
        end
        return failure
    elseif answer == 1 then
        local note = is_ours and note_prolonged or note_taken
        note(set, slot, now_ms + ttl)
    end
    return answer
end

local slotted = {compare = compare_slot, wait = wait_for_slot, refuse = refuse_slot,
                 take = take_slot}

-- A quorum that takes a slot for a shorter time than a period that is named would let it be taken
-- again within that, by nodes that the longer one was never named to: so no node takes one.
local function acquire_slot(i, _, value, ttl, fence, slot, k, id, ticket, life)
    local counted, longest = count_slots(KEYS[next_companion], k)
    if type(counted) == 'table' then
        return counted
    elseif tonumber(ttl) < longest then
        return {7, longest}
    end
    return acquire_as(slotted, i, value, ttl, fence, id, ticket, life, slot, k)
end

local function extend_slot(i, _, value, ttl, fence, slot, k)
    local answer = extend(i, 1, value, ttl, fence)
    local is_done = is_extended(answer)
    local failure = is_done and note_count(KEYS[next_companion], k, now_ms + ttl)
    if is_done then
        note_prolonged(KEYS[next_companion], slot, now_ms + ttl)
    end
    return failure or answer
end

local function release_slot(i, _, value, slot, k, fence, id, ticket, life, keep, note, is_long)
    local set = KEYS[next_companion]
    local failure = note and note ~= '' and revoked().note(KEYS[2 * i + 1], note, value)
    if failure then
        return failure
    end
    local raises = fence and fence ~= ''
    local answer, is_free, current = give_back(i, value, true, keep)
    if is_free then
        shorten_fence(i, is_long)
        note_free(set, slot)
        if is_long and is_long ~= '' then
            shorten_count(set, k)
        end
    elseif answer == 1 then
        local until_ms = now_ms + math.abs(keep)
        note_count(set, k, until_ms)
        note_taken(set, slot, until_ms)
    end
    local free = has_queues and count_free(set, k) or 0
    leave_queue_of(i, current, is_free, id, ticket, life, free)
    return raises and raise_fence(i, fence) or answer
end
