-- Does what the operations of one turn ask of this node, in their order; knows nothing of other
-- nodes.
-- SPDX-License-Identifier: MIT
--
-- KEYS[1]  the node record
-- KEYS[2i], KEYS[2i+1]  the i-th key of the requests, and its fence, which is the highest that this
--          node has seen, in decimal; each request is about the next one, or about the next several
-- KEYS[2n+1+i]  the queue of the waiters for the i-th key
-- The keys that follow  of each request of a reader or for a slot: the set that goes with it
-- ARGV[1]  the epoch that the node record had in the handshake; empty: not compared
-- ARGV[2]  the time of this node's clock, in us, after which no key is taken; empty: no limit
-- ARGV[3]  how far a fence may lie from this node's clock where its own is missing, in us
-- ARGV[4]  how long a fence lives, in ms
-- ARGV[5]  n, the number of keys of all requests
-- Then the requests, each a word and its arguments:
--   acquire VALUE TTL FENCE
--   await VALUE TTL FENCE ID TICKET LIFE
--          acquires for one that waits: it is entered in the queue where it has to wait, unless its
--          entry lives for 0 ms, and leaves it where it gets the key
--   extend VALUE TTL FENCE
--   release VALUE
--   leave VALUE FENCE ID TICKET LIFE KEEP NOTE
--          releases where more is left to do than to delete the key. FENCE, unless it is empty, is
--          the highest that was proposed to this node for the lease, whose commands may still lie in
--          a broken connection: the fence is raised to it, so that none of them can take the key
--          again. ID, unless it is empty, is a waiter, whose entry lives that long from now on; 0:
--          it waits no more. KEEP, unless it is empty, is for how long from now on the key has to
--          stand in the way of others: it is not deleted, and runs out then (shared/keep.lua). NOTE,
--          unless it is empty, is for how long VALUE may not take the key again: that is noted
--          before all else (shared/revoked.lua), since another process may go on extending the lease
--   acquire_share, await_share, extend_share, release_share, leave_share
--          the same for a reader: shared/readers.lua
--   acquire_slot VALUE TTL FENCE SLOT K
--   await_slot VALUE TTL FENCE SLOT K ID TICKET LIFE
--   extend_slot VALUE TTL FENCE SLOT K
--   release_slot VALUE SLOT K
--   leave_slot VALUE SLOT K FENCE ID TICKET LIFE KEEP NOTE
--          the same for one of K slots: shared/slot_requests.lua
--   acquire_all M VALUE TTL FENCE
--   await_all M VALUE TTL FENCE ID TICKET LIFE
--   extend_all M VALUE TTL FENCE
--   release_all M VALUE
--   leave_all M VALUE FENCE ID TICKET LIFE KEEP NOTE
--          the same for M keys at once: shared/several.lua
-- A ttl and a life are in ms.
--
-- Returns a list with an answer for each request, or the answer itself where there is but one. To
-- acquire:
--    1  the key is now ours with at least that ttl, and the fence at least the proposed one
--   {2, PTTL, value, fence, before}  held by somebody else; the first 128 bytes of the value, since
--                              foreign ones have no limit; the fence is 0 where there is none; for
--                              `before` see 3
--   {3, before, fence}         queued: free, but others wait, the first of them alive for at least
--                              that many ms unless its entry is refreshed
--   {4, fence}                 stale: free, but the proposed fence is not above this one
--   {5, time}                  ahead: free, but the proposed fence is too far above that time
--   {6, left, value, fence, before, free, k}  the slot is taken, or others wait before it: when one
--                              is free, and a map of those that are, of k; others may have named
--                              fewer than K
--   Of several keys, 2 and 3 carry the longest times and the highest fence of all, a map of those
--   that a wake-up will tell of, and which is held for longest, or is the first that is waited for,
--   from 0; and 2 whether that one lacks a fence:
--   {2, PTTL, value, fence, before, map, which, lacks}, {3, before, fence, map, which}
-- To extend: 1 where the key is ours for the ttl or longer, 0 where another value is there, else 4
-- or 5. A key that was gone was taken again under its fence, but for a value that was revoked: then
-- it is -2. To acquire or to extend shortens nothing: a key that would live longer keeps its
-- time. One without expiry gets its ttl: see shared/prolong.lua.
-- Both also answer with the status AMNESIAC where the node record is missing or another, or LATE
-- where the time limit had passed.
-- To release: 1 if the key was deleted, or will run out, 0 if it holds another value, -1 if there is no key. The
-- fence is raised in any case, unless the node record is missing or another, or the fence was not
-- written by this library. What is written where a fence is missing may lie below one that a new
-- master has forgotten: it has no vote for ttl_max, after which every fence that anybody proposes is
-- above both.
-- Or, to each, an error: FOREIGN or WRONGTYPE where a key holds what this library never writes, or
-- what the server replied to a command: an error is no answer, wherever the outcome hangs on it. Such
-- a request has taken nothing, and spoils no other.
--
-- The server's time for one request alone, and for each of many: see docs/performance.md. Functions
-- cost it, too, each time: so those of queues are made only where somebody waits, and those of
-- readers and slots only for them.
-- include shared/clock.lua
local epoch, not_after, allowance, fence_life = ARGV[1], ARGV[2], ARGV[3], ARGV[4]
local count = tonumber(ARGV[5])
local found = redis.call('MGET', unpack(KEYS, 1, 2 * count + 1))
local has_epoch = found[1] and string.sub(found[1], 1, 22) == epoch
local has_queues = redis.call('EXISTS', unpack(KEYS, 2 * count + 2, 3 * count + 1)) > 0

-- How many requests come before the first that is about several keys; nil where there is none so far.
-- Of those the i-th is about the i-th key.
local aligned

-- What the keys and the fences hold: as MGET found it, false where that is nothing, and as it was
-- changed since; nil for a key that is released and will be deleted with the others.
local stored, released = {}, {}
for i = 2, 2 * count + 1 do
    stored[KEYS[i]] = found[i]
end

-- include shared/fence.lua
-- include shared/prolong.lua
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

-- Returns nil where it is done, and otherwise an error. What MGET can't read looks missing; NX
-- tells: such a key is never overwritten.
local function put(name, text, ttl_ms)
    local current, done = stored[name]
    if current == false then
        done = redis.pcall('SET', name, text, 'NX', 'PX', ttl_ms)
    else
        done = redis.pcall('SET', name, text, 'PX', ttl_ms)
    end
    if not done then
        return redis.error_reply('FOREIGN ' .. name .. ' does not hold a string')
    elseif done.err then
        return done
    end
    for i = current == nil and #released or 0, 1, -1 do
        if released[i] == name then
            table.remove(released, i)
        end
    end
    stored[name] = text
end

-- Why no key may be taken now; false where it may. A server that was frozen finds old commands in
-- its sockets. Their client may be gone, and the keys that they take would never be released.
local function find_refusal()
    if epoch ~= '' and not has_epoch then
        return redis.status_reply('AMNESIAC')
    elseif not_after ~= '' and node_us() > tonumber(not_after) then
        return redis.status_reply('LATE')
    end
    return false
end

-- Why nothing is taken under this fence, which has to exceed `least`; nil where it may be.
local function refuse_fence(fence, least, is_missing)
    local proposed = tonumber(fence)
    if proposed <= least then
        return {4, least}
    elseif is_missing and proposed > node_us() + allowance then
        return {5, node_us()}
    end
end

-- Takes a free key under its fence.
local function take(key, fence_key, value, ttl, fence, least, is_missing)
    local failure = refuse_fence(fence, least, is_missing) or put(key, value, ttl)
    if failure then
        return failure
    end
    failure = put(fence_key, fence, fence_life)
    if failure then
        redis.pcall('DEL', key)  -- nothing is taken without its fence
        stored[key] = false
        return failure
    end
    return 1
end

-- The answer to a request for a key that somebody else holds.
local function held(key, current, seen, before)
    local left_ms = redis.pcall('PTTL', key)
    if type(left_ms) == 'table' then
        return left_ms
    end
    return {2, left_ms, string.sub(current, 1, 128), seen, before}
end

-- For how long others may stand before it, or the server's error where that decides. It is entered
-- where it has to wait.
local function time_to_wait(queue, id, ticket, life, is_held, is_free, shares, passes)
    local before = queues().time_before_turn(queue, id, ticket, queues().now(), shares, passes)
    if type(before) == 'table' then
        return is_held and 0 or before
    end
    if id and life ~= '0' and (is_held or is_free and before > 0) then
        queues().enter(queue, id, ticket, tonumber(life), queues().now())
        has_queues = true
    end
    return before
end

local function acquire(i, value, ttl, fence, id, ticket, life)
    local key, fence_key, queue = KEYS[2 * i], KEYS[2 * i + 1], KEYS[2 * count + 1 + i]
    local least, is_missing, foreign = fence_to_exceed(fence_key)
    if foreign then
        return foreign
    end
    local current = stored[key]
    local is_held = current and current ~= value
    local is_waited_for = is_held and id or has_queues and next(redis.pcall('ZRANGE', queue, 0, 0))
    local before = is_waited_for and
        time_to_wait(queue, id, ticket, life, is_held, not current, false) or 0
    local seen = is_missing and 0 or least
    if type(before) == 'table' then
        return before
    elseif is_held then
        return held(key, current, seen, before)
    elseif not current and before > 0 then
        return {3, before, seen}
    end
    local answer
    if current then
        local failure = tonumber(fence) > least and put(fence_key, fence, fence_life)
        answer = failure or prolong(key, ttl)
    else
        answer = take(key, fence_key, value, ttl, fence, least, is_missing)
    end
    if answer == 1 and id and is_waited_for then
        queues().leave(queue, id, ticket)
    end
    return answer
end

local revoked_rules

local function revoked()
    if not revoked_rules then
-- include shared/revoked.lua
        revoked_rules = {refuse = refuse_revoked, note = note_revoked}
    end
    return revoked_rules
end

local function extend(i, value, ttl, fence)
    local key, fence_key = KEYS[2 * i], KEYS[2 * i + 1]
    local current = stored[key]
    if current then
        return current == value and prolong(key, ttl) or 0
    end
    local refusal = revoked().refuse(fence_key, value)
    if refusal then
        return refusal
    end
    local least, is_missing, foreign = fence_to_exceed(fence_key)
    if foreign then
        return foreign
    end
    return take(key, fence_key, value, ttl, fence, least, is_missing)
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
        queues().wake_first(queue, string.sub(KEYS[1], 1, -13), key, id, is_shared,
                            free_slots or 1)
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
    local fence_key = KEYS[2 * i + 1]
    local least = fence_to_exceed(fence_key)
    local failure = least and tonumber(fence) > least and put(fence_key, fence, fence_life)
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
    elseif at_once or has_queues or aligned or count == 1 then
        -- A server without memory refuses the fence's SET unless something was written before, and
        -- a waiter gets a message only about a key that is gone.
        local answer = redis.pcall('DEL', key)
        stored[key] = answer ~= 1 and value
        return answer, answer == 1, current
    end
    released[#released + 1], stored[key] = key, nil
    return 1, true, current
end

local function release(i, value, fence, id, ticket, life, keep, note)
    local raises = fence and fence ~= ''
    local failure = note and note ~= '' and revoked().note(KEYS[2 * i + 1], note, value)
    if failure then
        return failure
    end
    local answer, is_free, current = give_back(i, value, raises, keep)
    leave_queue_of(i, current, is_free, id, ticket, life)
    return raises and raise_fence(i, fence) or answer
end

local reader_rules, slot_rules, set_rules
local next_companion = 3 * count + 1  -- of KEYS: the set of the latest request that has one

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
        slot_rules = {acquire = acquire_slot, extend = extend_slot, release = release_slot}
    end
    next_companion = next_companion + 1
    return slot_rules
end

local function sets()
    if not set_rules then
-- include shared/several.lua
        set_rules = {acquire = acquire_all, extend = extend_all, release = release_all}
    end
    return set_rules
end

local verbs, single_rules  -- made for the first request of a rarer kind

-- How many words follow, what does it, whether it gives a key back, and whether it is about several
-- keys. A word is a verb, and a suffix of the kind, whose requests have more words.
local function rare(what)
    verbs = verbs or {acquire = 3, await = 6, extend = 3, release = 1, leave = 7}
    single_rules = single_rules or {acquire = acquire, extend = extend, release = release}
    local verb, suffix = string.match(what, '^(%l+)_?(%l*)$')
    local words, rules, is_of_several = verbs[verb], single_rules, false
    if suffix == 'share' then
        rules = readers()
    elseif suffix == 'slot' then
        rules, words = slots(), words + 2
    elseif suffix == 'all' then
        rules, words, is_of_several = sets(), words + 1, true
    end
    if verb == 'release' or verb == 'leave' then
        return words, rules.release, true, is_of_several
    end
    return words, verb == 'extend' and rules.extend or rules.acquire, false, is_of_several
end

local answers = {}
local refusal  -- nil: not looked for yet
local at, i, n = 6, 1, 1  -- the next word, key and request
while i <= count do
    local what, words, done, gives_back, is_of_several = ARGV[at], 3, nil, false, false
    if what == 'acquire' then
        done = acquire
    elseif what == 'extend' then
        done = extend
    elseif what == 'release' then
        words, done, gives_back = 1, release, true
    else
        words, done, gives_back, is_of_several = rare(what)
    end
    aligned = aligned or is_of_several and n - 1 or nil
    if not gives_back and refusal == nil then
        refusal = find_refusal()
    end
    if refusal and not gives_back then
        answers[n] = refusal
    elseif words == 1 then
        answers[n] = done(i, ARGV[at + 1])
    elseif words == 3 then
        answers[n] = done(i, ARGV[at + 1], ARGV[at + 2], ARGV[at + 3])
    else
        answers[n] = done(i, unpack(ARGV, at + 1, at + words))
    end
    i = i + (is_of_several and tonumber(ARGV[at + 1]) or 1)
    at, n = at + words + 1, n + 1
end

if released[1] then
    local done = redis.pcall('DEL', unpack(released))
    for j = 1, type(done) == 'table' and (aligned or #answers) or 0 do
        if answers[j] == 1 and stored[KEYS[2 * j]] == nil then
            answers[j] = done
        end
    end
end
return answers[2] and answers or answers[1]
