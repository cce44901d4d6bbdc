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
-- ARGV[4]  by how much this node's clock is behind the time that fences go by, in us: its lift,
--          after clocks went back
-- ARGV[5]  n, the number of keys of all requests
-- Then the requests, each a word and its arguments:
--   acquire VALUE TTL FENCE
--   await VALUE TTL FENCE ID TICKET LIFE
--          acquires for one that waits: it is entered in the queue where it has to wait, unless its
--          entry lives for 0 ms, and leaves it where it gets the key
--   extend VALUE TTL FENCE
--   hold VALUE TTL FENCE
--          extends, and has the fence live on for some renewals to come
--   release VALUE
--   leave VALUE FENCE ID TICKET LIFE KEEP NOTE LONG
--          releases where more is left to do than to delete the key. FENCE, unless it is empty, is
--          the highest that was proposed to this node for the lease, whose commands may still lie
--          in a broken connection: the fence is raised to it, so that none of them can take the key
--          again. ID, unless it is empty, is a waiter, whose entry lives that long from now on; 0:
--          it waits no more. KEEP, unless it is empty, is for how long from now on the key has to
--          stand in the way of others: it is not deleted, and runs out then (shared/keep.lua).
--          NOTE, unless it is empty, is for how long VALUE may not take the key again: that is
--          noted before all else (shared/revoked.lua), since another process may go on extending
--          the lease.
--          LONG, unless it is empty, says that the fence may live for longer than it is needed: it
--          is cut where the key goes
--   acquire_share, await_share, extend_share, hold_share, release_share, leave_share
--          the same for a reader: shared/readers.lua. Where the key holds VALUE, as a writer's,
--          extend_share makes a reader of it, and release_share deletes it
--   acquire_slot VALUE TTL FENCE SLOT K
--   await_slot VALUE TTL FENCE SLOT K ID TICKET LIFE
--   extend_slot, hold_slot VALUE TTL FENCE SLOT K
--   release_slot VALUE SLOT K
--   leave_slot VALUE SLOT K FENCE ID TICKET LIFE KEEP NOTE LONG
--          the same for one of K slots: shared/slot_requests.lua. K is a number, or "5/60000":
--          nobody gives the slot back, and the 5 of them stay taken for 60,000 ms; or "5/60000@17":
--          the number was set at the instant 17; a caller with an earlier one, or none, goes by it
--   name_slot VALUE TTL FENCE SLOT K
--          takes nothing; what K says counts for TTL ms
--   acquire_slots M VALUE TTL FENCE SLOTS K, await_slots, extend_slots, ...
--          the same for M of K slots at once, or none: SLOTS is "3,7,9"
--   acquire_all M VALUE TTL FENCE
--   await_all M VALUE TTL FENCE ID TICKET LIFE
--   extend_all, hold_all M VALUE TTL FENCE
--   release_all M VALUE
--   leave_all M VALUE FENCE ID TICKET LIFE KEEP NOTE LONG
--          the same for M keys at once: shared/several.lua
-- A ttl and a life are in ms.
--
-- Returns a list with an answer for each request, or the answer itself where there is but one. To
-- acquire:
--    1  the key is now ours with at least that ttl, and the fence at least the proposed one
--   {2, PTTL, value, fence, before}  held by somebody else; the first 400 bytes of the value, since
--                              foreign ones have no limit; the fence is 0 where there is none; for
--                              `before` see 3
--   {3, before, fence}         queued: free, but others wait, the first of them alive for at least
--                              that many ms unless its entry is refreshed
--   {4, fence}                 stale: free, but the proposed fence is not above this one
--   {5, time}                  ahead: free, but the proposed fence is too far above that time,
--                              which is lifted
--   {6, left, value, fence, before, free, k, instant}  a slot is taken, or others wait before it:
--                              when as many are free as it needs, and a map of those that are,
--                              of k; others may have named fewer than K, or set k at that instant
--   {7, period}                the TTL is shorter than that period, which somebody names with K
--   Of several keys, 2 and 3 carry the longest times and the highest fence of all, a map of those
--   that a wake-up will tell of, and which is held for longest, or is the first that is waited for,
--   from 0; and 2 whether that one lacks a fence:
--   {2, PTTL, value, fence, before, map, which, lacks}, {3, before, fence, map, which}
-- To extend or hold: 1 where the key was ours, and is for the ttl or longer; 0 where another value
-- is there. A key that is gone is taken again, and the answer is {1, fence} with the fence that
-- this node had before, 0 where it had none; or it is 4 or 5, or -2 for a value that was revoked. A
-- reader's key is also gone where others share it: then that fence is what these had to exceed.
-- To acquire or to extend shortens nothing: a key that would live longer keeps its time. One
-- without expiry gets its ttl: see shared/prolong.lua.
-- Both also answer with the status AMNESIAC where the node record is missing or another, or LATE
-- where the time limit had passed.
-- To release: 1 if the key was deleted, or will run out, 0 if it holds another value, -1 if there
-- is no key. The fence is raised in any case, unless the node record is missing or another, or the
-- fence was not written by this library. What is written where a fence is missing may lie below one
-- that a new master has forgotten: it has no vote for ttl_max, after which every fence that anybody
-- proposes is above both.
-- Or, to each, an error: FOREIGN or WRONGTYPE where a key holds what this library never writes, or
-- what the server replied to a command: an error is no answer, wherever the outcome hangs on it.
-- Such a request has taken nothing, and spoils no other.
--
-- Most requests are plain: an acquire of a free key, also of one that would wait, an extension of a
-- key that is ours, and a release of one by which nothing else is left to do, where nobody waits
-- for a key of this command. The loop at the end does them by the few functions before it. From the
-- first one that is not plain on the requests go the general way, and only then its functions are
-- made: to make them takes time, too, in each call. Those of queues are made only where somebody
-- waits, and those of readers and slots only for them. Where a command is to take several keys,
-- what they hold is read at once, since each call of the server takes longer than what it does. How
-- long a call takes: docs/performance.md.
-- include shared/clock.lua
local epoch, not_after, allowance, lift = ARGV[1], ARGV[2], ARGV[3], ARGV[4]
local count = tonumber(ARGV[5])

-- include shared/fence.lua
-- include shared/fence_life.lua
-- include shared/prolong.lua
-- Why nothing is taken under this fence, which has to exceed `least`; nil where it may be.
local function refuse_fence(fence, least, is_missing)
    local proposed = tonumber(fence)
    if proposed <= least then
        return {4, least}
    elseif is_missing and proposed > node_us() + lift + allowance then
        return {5, node_us() + lift}
    end
end

-- The keys that this script deletes in the end, at once; and by each key the number of its request:
-- a server without memory refuses each SET until something is deleted.
local released = {}

-- Writes a key that is to be taken and its fence, or neither. Returns 1, or an error. The key is
-- free, or was released by this script; `lacks`: there is no fence. What MGET can't read looks
-- missing, and NX tells: such a key is never overwritten.
local function write_both(key, fence_key, value, ttl, fence, lacks)
    local name, done = key, nil
    if released[key] then
        done = redis.pcall('SET', key, value, 'PX', ttl)
    else
        done = redis.pcall('SET', key, value, 'NX', 'PX', ttl)
    end
    if done and not done.err then
        name = fence_key
        local lives = life_of(fence, ttl)
        if lacks then
            done = redis.pcall('SET', fence_key, fence, 'NX', 'PX', lives)
        else
            done = redis.pcall('SET', fence_key, fence, 'PX', lives)
        end
        if done and not done.err then
            for j = released[key] and #released or 0, 1, -1 do
                if released[j] == key then
                    table.remove(released, j)
                end
            end
            released[key] = nil
            return 1
        end
        redis.pcall('DEL', key)  -- nothing is taken without its fence
    end
    return done or redis.error_reply('FOREIGN ' .. name .. ' does not hold a string')
end

local answers = {}
local has_several = false  -- whether a request so far was about several keys
local at, i, n = 6, 1, 1  -- the next word, key and request
local has_queues  -- nil: not looked for yet, since no request depends on it so far
local is_plain = true
-- What KEYS held, up to the fence of the last request, when the first of several was to take a key:
-- false where that is nothing, or no string; nil: not read. It is out of date for keys in `taken`.
local texts, taken
local rules_for  -- of the general way
local has_epoch  -- whether the node record is the one that the client knows; nil: not looked at yet
local refusal    -- nil: not looked for yet
while i <= count do
    local what, value, key = ARGV[at], ARGV[at + 1], KEYS[2 * i]
    local takes, gives_back, words, done, m = false, false, 3, nil, 1
    if what == 'acquire' then
        takes = true
    elseif what == 'await' then
        takes, words = true, 6
    elseif what == 'release' then
        gives_back, words = true, 1
    elseif what == 'leave' then
        gives_back, words = true, 8
        is_plain = is_plain and (ARGV[at + 5] == '0' or ARGV[at + 3] == '') and
            ARGV[at + 2] .. ARGV[at + 6] .. ARGV[at + 7] .. ARGV[at + 8] == ''
    elseif what ~= 'extend' then
        is_plain = false
    end
    if has_queues == nil and what ~= 'extend' then
        has_queues = redis.call('EXISTS', unpack(KEYS, 2 * count + 2, 3 * count + 1)) > 0
        is_plain = is_plain and not has_queues
    end
    if not is_plain then
        if not rules_for then
-- include shared/general.lua
            rules_for = find_rules
        end
        done, words, gives_back, m = rules_for(what)
        has_several = has_several or m > 1
    elseif takes and count > 1 and not texts then
        texts, taken = redis.call('MGET', unpack(KEYS, 1, 2 * count + 1)), {}
    end
    if has_epoch == nil and not (is_plain and gives_back) then
        -- Which tells no error where it is a list.
        local record = (texts or redis.call('MGET', KEYS[1]))[1]
        has_epoch = record and string.sub(record, 1, 22) == epoch
    end
    -- Why no key may be taken now; false where it may. A server that was frozen finds old commands
    -- in its sockets. Their client may be gone, and the keys that they take would never be
    -- released.
    if refusal == nil and not gives_back then
        refusal = false
        if epoch ~= '' and not has_epoch then
            refusal = redis.status_reply('AMNESIAC')
        elseif not_after ~= '' and node_us() > tonumber(not_after) then
            refusal = redis.status_reply('LATE')
        end
    end
    local answer
    if refusal and not gives_back then
        answer = refusal
    elseif is_plain and not (taken and taken[key]) and (takes or not released[key]) then
        local current, seen
        if texts then
            current, seen = not released[key] and texts[2 * i], texts[2 * i + 1]
        else
            current = redis.pcall('GET', key)
            seen = takes and not current and redis.pcall('GET', KEYS[2 * i + 1])
        end
        if takes then
            if not current and type(seen) ~= 'table' then
                local fence_key, fence = KEYS[2 * i + 1], ARGV[at + 3]
                local least, is_missing, foreign = fence_bound(fence_key, seen)
                answer = foreign or refuse_fence(fence, least, is_missing) or
                    write_both(key, fence_key, value, ARGV[at + 2], fence, is_missing)
                if taken then
                    taken[key] = true
                end
            end
        elseif current == value then
            answer = 1
            if not gives_back then
                answer = prolong(key, ARGV[at + 2])
            elseif count == 1 then
                answer = redis.pcall('DEL', key)
            else
                released[#released + 1], released[key] = key, n
            end
        end
    elseif done then
        answer = done(i, m, unpack(ARGV, at + 1, at + words))
    end
    if is_plain and not answer then
        is_plain = false  -- and the general way does this request
    else
        answers[n] = answer
        i = i + m
        at, n = at + words + 1, n + 1
    end
end
if released[1] then
    local done = redis.pcall('DEL', unpack(released))
    for j = 1, type(done) == 'table' and #released or 0 do
        answers[released[released[j]]] = done
    end
end
return answers[2] and answers or answers[1]
