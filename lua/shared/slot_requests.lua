-- Requests for slots of a resource, one or several at once; included in general.lua.
-- SPDX-License-Identifier: MIT
-- include shared/slots.lua
local now_ms = math.floor(node_us() / 1000)

-- Known of each set, so that the script asks the server once where many requests want a slot of one
-- resource: the `terms` that programs name; by their
-- text, whether a request of this script names a number, and until when that counts; which of
-- the first `counted` slots are `taken`, each until when, and how many (`size`); until when the set
-- lives (`until_ms`).
-- include shared/known.lua

-- How many there are, and the longest period; or the server's error.
local function count_slots(set, k)
    local of = about(set)
    if not of.terms then
        local terms = named_terms(set, now_ms)
        if terms.err then
            return terms
        end
        of.terms = terms
    end
    return count_by(of.terms, k), of.terms.longest
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
    local _, period, revision = parts_of(k)
    if revision > (of.terms and of.terms.revision or revision) then
        -- Of those that were set with this period only the last one is left.
        for _, member in ipairs(redis.pcall('ZRANGEBYSCORE', set, '-inf', '(0')) do
            local _, its, set_at = parts_of(string.sub(member, 3))
            if its == period and set_at > 0 and set_at < revision then
                redis.pcall('ZREM', set, member)
            end
        end
    end
    if of.terms then
        add_term(of.terms, k)
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

-- Of "3", or of "3,7,9".
local function numbers_in(slots)
    local all = {}
    for number in string.gmatch(slots, '%d+') do
        all[#all + 1] = number
    end
    return all
end

local function compare_slots(i, m, value, numbers, k)
    local set, holder, are_ours = KEYS[next_companion], nil, true
    for j = i, i + m - 1 do
        local current = stored[KEYS[2 * j]]
        are_ours = are_ours and current == value
        holder = holder or current and current ~= value and current
    end
    local counted = are_ours and parts_of(k) or count_slots(set, k)
    if type(counted) == 'table' then
        return nil, counted
    end
    local is_held = not are_ours and holder
    for _, slot in ipairs(not are_ours and numbers or {}) do
        is_held = is_held or tonumber(slot) >= counted
    end
    return are_ours, is_held, holder
end

-- Those before it may have the other slots.
local function wait_for_slots(queue, id, ticket, life, is_held, are_ours, m, k)
    if are_ours then
        return 0
    end
    local set = KEYS[next_companion]
    local counted = count_slots(set, k)
    local seen_slots, failure = look_at_slots(set, counted)
    if failure then
        return failure
    end
    local room = math.max(counted - seen_slots.size - m, 0)
    return time_to_wait(queue, id, ticket, life, is_held, true, false, room)
end

local function refuse_slots(i, m, value, current, seen, before, _, numbers, k)
    local set, held = KEYS[next_companion], {}
    local counted = count_slots(set, k)
    local seen_slots, failure = look_at_slots(set, counted)
    if failure then
        return failure
    end
    for j, slot in ipairs(numbers) do
        local there = stored[KEYS[2 * (i + j - 1)]]
        held[slot] = there and there ~= value
    end
    local taken, size = seen_slots.taken, seen_slots.size
    return {6, time_to_first(taken, size, counted, now_ms, m), string.sub(current or '', 1, 400),
            seen, before, map_of_free(taken, counted, held), counted, about(set).terms.revision}
end

local function take_slots(i, m, are_ours, value, ttl, fence, least, is_missing, numbers, k)
    local set, free = KEYS[next_companion], {}
    for j = i, i + m - 1 do
        free[#free + 1] = not stored[KEYS[2 * j]] and KEYS[2 * j] or nil
    end
    local answer = take_keys(i, m, value, ttl, fence, least, is_missing, true)
    local failure = answer == 1 and note_count(set, k, now_ms + ttl)
    if failure then
        -- Another program would count more slots than there are.
        for _, key in ipairs(free) do
            redis.pcall('DEL', key)
            stored[key] = false
        end
        return failure
    end
    for _, slot in ipairs(answer == 1 and numbers or {}) do
        local note = are_ours and note_prolonged or note_taken
        note(set, slot, now_ms + ttl)
    end
    return answer
end

local slotted = {compare = compare_slots, wait = wait_for_slots, refuse = refuse_slots,
                 take = take_slots}

-- A quorum that takes a slot for a shorter time than a period that is named would let it be taken
-- again within that, by nodes that the longer one was never named to: so no node takes one.
local function acquire_slots(i, m, value, ttl, fence, slots, k, id, ticket, life)
    local counted, longest = count_slots(KEYS[next_companion], k)
    if type(counted) == 'table' then
        return counted
    elseif tonumber(ttl) < longest then
        return {7, longest}
    end
    return acquire_as(slotted, i, m, value, ttl, fence, id, ticket, life, numbers_in(slots), k)
end

local function extend_slots(i, m, value, ttl, fence, slots, k)
    local answer = extend(i, m, value, ttl, fence)
    local is_done = is_extended(answer)
    local failure = is_done and note_count(KEYS[next_companion], k, now_ms + ttl)
    for _, slot in ipairs(is_done and numbers_in(slots) or {}) do
        note_prolonged(KEYS[next_companion], slot, now_ms + ttl)
    end
    return failure or answer
end

local function release_slots(i, m, value, slots, k, fence, id, ticket, life, keep, note, is_long)
    local set, last = KEYS[next_companion], i + m - 1
    for j = i, note and note ~= '' and last or 0 do
        local failure = revoked().note(KEYS[2 * j + 1], note, value)
        if failure then
            return failure
        end
    end
    local raises, all, is_any_free, found = fence and fence ~= '', 1, false, nil
    local numbers = numbers_in(slots)
    for j = i, last do
        local answer, is_free, current = give_back(j, value, true, keep)
        if is_free then
            shorten_fence(j, is_long)
            note_free(set, numbers[j - i + 1])
        elseif answer == 1 then
            local until_ms = now_ms + redis.call('PTTL', KEYS[2 * j])
            note_count(set, k, until_ms)
            note_taken(set, numbers[j - i + 1], until_ms)
        end
        is_any_free, found = is_any_free or is_free, found or current
        all = together(all, raises and raise_fence(j, fence) or answer)
    end
    if is_any_free and is_long and is_long ~= '' then
        shorten_count(set, k)
    end
    local free = has_queues and count_free(set, k) or 0
    leave_queue_of(i, found, is_any_free, id, ticket, life, free)
    return all
end

-- Takes no slot. What K says counts for `life` ms, whichever program holds the slots.
local function name_slots(_, _, _, life, _, _, k)
    local set = KEYS[next_companion]
    local counted = count_slots(set, k)
    return type(counted) == 'table' and counted or note_count(set, k, now_ms + life) or 1
end
