-- Requests for the keys of an exclusive lock, one or several at once; included in general.lua.
-- SPDX-License-Identifier: MIT
--
-- All of them are taken, under one fence above those of all, or none is. A waiter has one ticket
-- and stands with it in the queues of all of them: where it stood only in those of the keys that
-- happen to be held, or had a ticket for each, others would pass it without end.

-- As slots.lua has it: one bit for each key, from the lowest of the first byte on.
local function map_of(marked, m)
    local bytes = {}
    for base = 0, m - 1, 8 do
        local byte = 0
        for bit = 0, math.min(7, m - 1 - base) do
            byte = byte + (marked[base + bit] and 2 ^ bit or 0)
        end
        bytes[#bytes + 1] = string.char(byte)
    end
    return table.concat(bytes)
end

-- What their fences demand of the next one, whether one of them is missing, and the highest that is
-- there. Nil and an error where one holds none of ours.
local function fences_to_exceed(i, m)
    local least, is_missing, seen = 0, false, 0
    for j = i, i + m - 1 do
        local one, lacks, foreign = fence_to_exceed(KEYS[2 * j + 1])
        if foreign then
            return nil, foreign
        end
        least = math.max(least, one)
        is_missing = is_missing or lacks
        seen = math.max(seen, lacks and 0 or one)
    end
    return least, is_missing, seen
end

-- Takes those that are free and prolongs those that are ours already, or changes none of the free
-- ones. `raises`: those that are ours get the fence, too.
local function take_keys(i, m, value, ttl, fence, least, is_missing, raises)
    local taken
    for j = i, i + m - 1 do
        local key, fence_key, answer = KEYS[2 * j], KEYS[2 * j + 1], nil
        if stored[key] then
            local raised = raises and tonumber(fence) > fence_to_exceed(fence_key)
            answer = raised and raise(fence_key, fence, tonumber(ttl)) or prolong(key, ttl)
        else
            answer = take(key, fence_key, value, ttl, fence, least, is_missing)
            taken = taken or {}
            taken[#taken + 1] = answer == 1 and key or nil
        end
        if answer ~= 1 then
            for _, name in ipairs(taken or {}) do
                redis.pcall('DEL', name)
                stored[name] = false
            end
            return answer
        end
    end
    return 1
end

local function acquire(i, m, value, ttl, fence, id, ticket, life)
    local least, is_missing, seen = fences_to_exceed(i, m)
    if not least then
        return is_missing
    end
    local blocked, holder, which, lacks, left, before = {}, nil, nil, 0, 0, 0
    local is_waited_for = false
    for j = i, i + m - 1 do
        local key, queue = KEYS[2 * j], KEYS[2 * count + 1 + j]
        local current = stored[key]
        local is_held = current and current ~= value
        local has_waiters = has_queues and
            (is_held and id or next(redis.pcall('ZRANGE', queue, 0, 0)))
        local others = has_waiters and current ~= value and
            queues().time_before_turn(queue, id, ticket, queues().now()) or 0
        if type(others) == 'table' and not is_held then
            return others
        end
        others = type(others) == 'table' and 0 or others
        before = math.max(before, others)
        is_waited_for = is_waited_for or has_waiters
        if is_held then
            local pttl = redis.pcall('PTTL', key)
            if type(pttl) == 'table' then
                return pttl
            end
            -- Of the keys that are held the answer names the one that is held for longest.
            if not holder or left >= 0 and (pttl < 0 or pttl > left) then
                left, which, holder = pttl, j - i, current
                lacks = stored[KEYS[2 * j + 1]] and 0 or 1
            end
        elseif others > 0 then
            which = which or j - i
        end
        -- No wake-up will tell of a key that another library gives back.
        local is_foreign = m > 1 and is_held and current ~= 'redlock:shared' and
            queues().is_looked_after(current)
        blocked[j - i] = is_held and not is_foreign or others > 0
    end
    if not which then
        local answer = take_keys(i, m, value, ttl, fence, least, is_missing, true)
        for j = i, answer == 1 and id and is_waited_for and i + m - 1 or 0 do
            queues().leave(KEYS[2 * count + 1 + j], id, ticket)
        end
        return answer
    end
    for j = i, id and life ~= '0' and i + m - 1 or 0 do
        queues().enter(KEYS[2 * count + 1 + j], id, ticket, tonumber(life), queues().now())
        has_queues = true
    end
    local answer = holder and {2, left, string.sub(holder, 1, 400), seen, before} or
        {3, before, seen}
    if m > 1 then
        local n = #answer
        answer[n + 1], answer[n + 2] = map_of(blocked, m), which
        answer[n + 3] = holder and lacks
    end
    return answer
end

-- By the answer to an extension.
local function is_extended(answer)
    return answer == 1 or type(answer) == 'table' and answer[1] == 1
end

local function extend(i, m, value, ttl, fence)
    local is_gone = false
    for j = i, i + m - 1 do
        local current = stored[KEYS[2 * j]]
        if current and current ~= value then
            return 0
        end
        local refusal = not current and revoked().refuse(KEYS[2 * j + 1], value)
        if refusal then
            return refusal
        end
        is_gone = is_gone or not current
    end
    local least, is_missing, seen = 0, false, 0
    if is_gone then
        least, is_missing, seen = fences_to_exceed(i, m)
        if not least then
            return is_missing
        end
        -- Before one of those that are left is prolonged.
        local refusal = refuse_fence(fence, least, is_missing)
        if refusal then
            return refusal
        end
    end
    local answer = take_keys(i, m, value, ttl, fence, least, is_missing, false)
    return answer == 1 and is_gone and {1, is_missing and 0 or seen} or answer
end

-- include shared/together.lua
-- The answer is 1 where each key was given back.
local function release(i, m, value, fence, id, ticket, life, keep, note, is_long)
    local all, raises, last = 1, fence and fence ~= '', i + m - 1
    -- Of all, before one is given back.
    for j = i, note and note ~= '' and last or 0 do
        local failure = revoked().note(KEYS[2 * j + 1], note, value)
        if failure then
            return failure
        end
    end
    for j = i, last do
        local answer, is_free, current = give_back(j, value, raises, keep)
        if is_free then
            shorten_fence(j, is_long)
        end
        leave_queue_of(j, current, is_free, id, ticket, life)
        all = together(all, raises and raise_fence(j, fence) or answer)
    end
    return all
end
