-- Keeps waiters in their queues, and tells when the keys will be theirs; knows no other node.
-- SPDX-License-Identifier: MIT
--
-- KEYS[1..n]     the keys; where it is one of the slots that a waiter wants, the set of those that
--                are taken
-- KEYS[n+1..2n]  the queues of their waiters
-- ARGV[1]  n
-- ARGV[2..n+1]     the ids of the waiters; empty for one that has no place
-- ARGV[n+2..2n+1]  their tickets
-- ARGV[2n+2..3n+1] how long their entries live from now on, in ms; 0 for one that only asks
-- ARGV[3n+2..4n+1] how many slots there are; 0 where it is the key that a waiter wants
--
-- Returns one list per waiter:
--   how many ms may pass, as things are, before it gets the key. 0: it is free, or held by readers
--          as this one is, and nobody stands before it; -1: the key does not run out by itself
--   for how many ms of them at least others may stand before it; 0 where the server does not tell
--   the first 23 bytes of the key's value, by which foreign ones are known; empty where there is
--          none, or no string
--   of slots, how many there are
-- include shared/clock.lua
-- include shared/queue.lua
-- include shared/slots.lua

-- Where the server does not tell it asks at once, and the answer to that says why.
local function wait_before(...)
    local before = time_before_turn(...)
    return type(before) == 'number' and before or 0
end

local n = tonumber(ARGV[1])
local now = node_ms()
local answers = {}
for i = 1, n do
    local key, queue, id, ticket = KEYS[i], KEYS[n + i], ARGV[1 + i], ARGV[n + 1 + i]
    local life_ms = tonumber(ARGV[2 * n + 1 + i])
    if id == '' then
        id = nil
    elseif life_ms > 0 then
        enter_queue(queue, id, ticket, life_ms, now)
    end
    local k = tonumber(ARGV[3 * n + 1 + i])
    if k > 0 then
        local terms = named_terms(key, now)
        k = terms.err and k or count_by(terms, ARGV[3 * n + 1 + i])
        local taken, size = taken_slots(key, k, now)
        size = taken and size or 0
        local m = id and wanted_by(id) or 1
        local before = wait_before(queue, id, ticket, now, false, math.max(k - size - m, 0))
        local left = time_to_first(taken, size, k, now, m)
        answers[i] = {math.max(left > 0 and left + 1 or 0, before), before, '', k}
    else
        local left, value = redis.call('PTTL', key), ''
        local shares = id and is_reader(id)
        local before = wait_before(queue, id, ticket, now, shares)
        if left ~= -2 then
            value = redis.pcall('GETRANGE', key, 0, 22)
            value = type(value) == 'string' and value or ''
        end
        if shares and value == 'redlock:shared' then
            left = -2  -- as good as free
        end
        -- A key in its last ms is still there.
        answers[i] = {left == -1 and -1 or math.max(left + 1, before), before, value}
    end
end
return answers
