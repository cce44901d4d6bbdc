-- The queue of the waiters for one key, included after shared/clock.lua; knows no lock.
-- SPDX-License-Identifier: MIT
--
-- A sorted set: the score is the ticket, the member "client:number:until", where client:number is
-- the waiter's id, the number after an "r" for one that would share the key, and before a "/3" for
-- one that wants three slots at once; `until` is the ms of this node's clock after which its entry
-- counts as dead. It is advice for order and speed: what the server refuses to write here is left
-- out, and spoils no vote. Where it refuses to read the queue, no waiter passes.
local dead_left = 1024  -- so many dead entries one script removes
local most_readers = 128  -- of those that stand one behind the other, so many are looked at

local function node_ms()
    return math.floor(node_us() / 1000)
end

-- Whether it was there; and why the server does not tell.
local function leave_queue(queue, id, ticket)
    local found = redis.pcall('ZRANGEBYSCORE', queue, ticket, ticket)
    for _, member in ipairs(found) do
        if string.sub(member, 1, #id + 1) == id .. ':' then
            redis.pcall('ZREM', queue, member)
            return true
        end
    end
    return false, found.err
end

-- For the first time, or again: its entry lives that long from now on.
local function enter_queue(queue, id, ticket, life_ms, now)
    local was_there, failure = leave_queue(queue, id, ticket)
    local length = was_there and 0 or failure or redis.pcall('ZCARD', queue)
    if type(length) == 'number' and length < 65536 then
        redis.pcall('ZADD', queue, ticket, string.format('%s:%.0f', id, now + life_ms))
        -- Never sooner: somebody else's entry may live for longer.
        local left = redis.pcall('PTTL', queue)
        if type(left) == 'number' and left < 2 * life_ms then
            redis.pcall('PEXPIRE', queue, string.format('%.0f', 2 * life_ms))
        end
    end
end

local function is_reader(member)
    return string.find(member, '^[^:]*:r') ~= nil
end

-- How many slots a waiter wants, by its entry or its id.
local function wanted_by(member)
    return tonumber(string.match(member, '^[^:]*:%d+/(%d+)')) or 1
end

-- The first live entry at that rank, from 0, or behind: its member, its ticket, and for how long
-- it still lives. Dead entries before it are removed, a bounded number at a time: where there are
-- more, an entry without a name is first for a moment. An entry that would live for longer than a
-- minute is from before the clock went back. The server's error where it refuses to read the queue.
local function first_in_queue(queue, now, rank)
    while dead_left > 0 do
        local first = redis.pcall('ZRANGE', queue, rank, rank, 'WITHSCORES')
        if first.err then
            return first
        elseif not first[1] then
            return nil
        end
        local left = (tonumber(string.match(first[1], ':(%d+)$')) or 0) - now
        if left > 0 and left <= 60000 then
            return first[1], tonumber(first[2]), left
        end
        if type(redis.pcall('ZREM', queue, first[1])) == 'table' then
            break  -- refused, as on a replica
        end
        dead_left = dead_left - 1
    end
    return '', 0, 1
end

-- Compares bytes, as a sorted set does for equal scores. Lua's `<` follows the server's locale.
local function comes_before(a, b)
    for i = 1, math.min(#a, #b) do
        local x, y = string.byte(a, i), string.byte(b, i)
        if x ~= y then
            return x < y
        end
    end
    return #a < #b
end

-- For how many ms at least a live waiter may stand before this one; 0 where none does. All waiters
-- stand before an acquire without an id, which does not wait. A reader (`shares`) goes with other
-- readers, and waits only for writers. Those before it don't count as long as there is room for
-- what they want, too: so many slots (`room`). Or the server's error.
local function time_before_turn(queue, id, ticket, now, shares, room)
    room = room or 0
    local behind
    for rank = 0, shares and most_readers or room do
        local member, before, left = first_in_queue(queue, now, rank)
        if not member then
            return 0
        elseif type(member) == 'table' then
            return member
        end
        if id then
            ticket = tonumber(ticket)
            if before > ticket or (before == ticket and not comes_before(member, id)) then
                return 0
            end
        end
        behind, room = left, room - wanted_by(member)
        if room < 0 and not (shares and is_reader(member)) then
            return left
        end
    end
    return behind  -- so many stand before it that a writer may be among them
end

-- Sends a wake-up to the first waiter, since the key is free, and to those behind it that may
-- share the key with it; to readers alone where the key is shared already. Where slots are free, to
-- the first as far as there is room for what they want: so many slots (`room`). One for which there
-- is too little keeps it, and those behind wait, too. `id` itself gets none. A client that does not
-- listen any more is dead, or will send a request when it listens again: its entry is removed, and
-- the next waiter gets the wake-up.
local function wake_first(queue, prefix, key, id, is_shared, room)
    local now = node_ms()
    local rank, told = 0, {}
    while rank <= most_readers do
        local member = first_in_queue(queue, now, rank)
        if type(member) ~= 'string' or member == '' or
            id and string.sub(member, 1, #id + 1) == id .. ':' then
            return
        end
        local shares, wanted = is_reader(member), wanted_by(member)
        local left = room or rank == 0 and wanted or 0
        if not shares and (is_shared or wanted > left) then
            return
        end
        local client = string.match(member, '^[^:]*')
        if not told[client] then
            local channel = prefix .. 'redlock:wake:' .. client
            told[client] = redis.pcall('PUBLISH', channel, string.sub(key, #prefix + 1))
        end
        if told[client] == 0 then
            if type(redis.pcall('ZREM', queue, member)) == 'table' then
                return
            end
            dead_left = dead_left - 1
        elseif not shares and wanted == left then
            return
        else
            rank, room = rank + 1, left - wanted
        end
    end
end

-- Whether the key is free, shared, or held by a value that this library does not write: no release
-- will wake the waiters that may have it then, so the first in the queue has to look by itself.
local function is_to_be_looked_after(value)
    return not value or
        type(value) == 'string' and not string.find(value, '^' .. string.rep('[%w_-]', 22) .. '@')
end
