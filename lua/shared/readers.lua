-- Readers, which share a key; included in general.lua.
-- SPDX-License-Identifier: MIT
--
-- While readers have it the key holds redlock:shared, and lives as long as the last of them. Its
-- third companion is a sorted set: each reader's value, and until when it holds the key, in ms of
-- this node's clock; and "base", whose score is, below zero, the fence that this node had seen when
-- the first of these readers came. That alone a reader has to exceed, not the fences of the others:
-- they would refuse each other.
--
-- A writer that goes on as a reader says so by extend_share, and by that alone from then on: a node
-- on which it has the key alone yet makes a reader of it. Its fence stays; it is a writer before
-- all that join it.
--
-- The set counts only while the key is shared. Once a writer has the key, a request that looked at
-- the set first would let a reader in beside the writer, or delete the writer's key.
local marker = 'redlock:shared'
local now_ms = math.floor(node_us() / 1000)
-- A ttl counts from the next full ms on, so that no reader is cut short.
local until_next_ms = math.ceil(node_us() / 1000) - now_ms

-- Known of each set, so that the script asks the server once where many requests share a key:
-- `base`; `last`, a reader that holds the key for longest, and until when (`last_ms`); until when
-- the key lives (`lives_ms`), and whether the set expires with it (`has_set_expiry`);
-- `are_dead_gone`.
-- include shared/known.lua

-- Nil where it was lost; or the server's error.
local function base_of(set)
    local of = about(set)
    if not of.base then
        local score = redis.pcall('ZSCORE', set, 'base')
        if type(score) == 'table' then
            return score
        end
        of.base = score and -tonumber(score) or nil
    end
    return of.base
end

-- Until when it has the key, if it is among those that have it; or the server's error.
local function place_of(set, value)
    local until_ms = redis.pcall('ZSCORE', set, value)
    if type(until_ms) == 'string' then
        until_ms = tonumber(until_ms)
    end
    return (type(until_ms) == 'table' or until_ms and until_ms > now_ms) and until_ms
end

-- Those whose time is over go.
local function remove_dead(set)
    if not about(set).are_dead_gone then
        redis.pcall('ZREMRANGEBYSCORE', set, '0', string.format('%.0f', now_ms))
        about(set).are_dead_gone = true
    end
end

-- The reader besides `value` that has the key for longest, and until when; false where there is
-- none. Or nil, and the server's error.
local function last_besides(set, value)
    local of = about(set)
    if of.last and of.last ~= value then
        return of.last, of.last_ms
    end
    local found = redis.pcall('ZRANGE', set, -2, -1, 'WITHSCORES')
    if found.err then
        return nil, found
    end
    for j = #found - 1, 1, -2 do
        if found[j] ~= value and found[j] ~= 'base' then
            return found[j], tonumber(found[j + 1])
        end
    end
    return false
end

-- The key lives until then or longer, and the set as long as the key. Returns 1, or the error.
local function live_until(key, set, until_ms)
    local of = about(set)
    if not of.lives_ms then
        local left_ms = redis.pcall('PTTL', key)
        if type(left_ms) == 'table' then
            return left_ms
        end
        of.lives_ms = left_ms < 0 and 0 or now_ms + left_ms
        if left_ms < 0 then
            -- Its expiry was taken away (shared/prolong.lua): it lives as long as its last reader.
            local last, last_ms = last_besides(set)
            if last == nil then
                return last_ms
            end
            until_ms = math.max(until_ms, last_ms or 0)
        end
    end
    if of.lives_ms < until_ms then
        local done = redis.pcall('PEXPIRE', key, until_ms - now_ms)
        if type(done) == 'table' then
            return done
        end
        of.lives_ms, of.has_set_expiry = until_ms, false
    end
    if not of.has_set_expiry then
        local done = redis.pcall('PEXPIRE', set, of.lives_ms - now_ms)
        if type(done) == 'table' then
            return done
        end
        of.has_set_expiry = true
    end
    return 1
end

-- The first one takes the free key under its fence, and begins a new set.
local function open_readers(i, set, value, ttl_text, fence, least, is_missing)
    local key, ttl = KEYS[2 * i], ttl_text + until_next_ms
    local found = place_of(set, value)
    if type(found) == 'table' then
        return found
    end
    local answer = take(key, KEYS[2 * i + 1], marker, ttl, fence, least, is_missing)
    if answer ~= 1 then
        return answer
    end
    local done = redis.pcall('DEL', set)
    if type(done) ~= 'table' then
        done = redis.pcall('ZADD', set, string.format('%.0f', -least), 'base',
                           string.format('%.0f', now_ms + ttl), value)
    end
    if type(done) == 'table' then
        redis.pcall('DEL', key)
        stored[key] = false
        return done
    end
    known[set] = {base = least, last = value, last_ms = now_ms + ttl, lives_ms = now_ms + ttl,
                  are_dead_gone = true}
    return live_until(key, set, now_ms + ttl)
end

-- Joins those that have the key, or stays among them for the ttl or longer: it was among them until
-- `until_ms`. `raises`: such a one raises the fence, too.
local function join_readers(i, set, value, ttl_text, fence, least, is_missing, until_ms, raises)
    local ends_ms, proposed = now_ms + ttl_text + until_next_ms, tonumber(fence)
    if type(until_ms) == 'table' then
        return until_ms
    end
    if not until_ms then
        local bound = base_of(set) or least
        if type(bound) == 'table' then
            return bound
        elseif is_missing then
            bound = math.max(bound, least)
        end
        local refusal = refuse_fence(fence, bound, is_missing)
        if refusal then
            return refusal
        end
    else
        -- Before the rest: a server without memory refuses ZADD unless something was written
        -- before. A reader that has the key must not lose it by that.
        remove_dead(set)
    end
    if not until_ms or until_ms < ends_ms then
        local done = redis.pcall('ZADD', set, string.format('%.0f', ends_ms), value)
        if type(done) == 'table' then
            return done
        end
        local of = about(set)
        if of.last and of.last_ms <= ends_ms then
            of.last, of.last_ms = value, ends_ms
        end
    end
    if (raises or not until_ms) and proposed > least then
        local failure = raise(KEYS[2 * i + 1], fence, ends_ms - now_ms)
        if failure then
            if not until_ms then
                redis.pcall('ZREM', set, value)
                about(set).last = nil
            end
            return failure
        end
    end
    if not until_ms then
        remove_dead(set)
    end
    return live_until(KEYS[2 * i], set, ends_ms)
end

local function compare_readers(i, _, value)
    local current = stored[KEYS[2 * i]]
    return current == marker and place_of(KEYS[next_companion], value),
        current and current ~= marker, current
end

local function wait_for_writers(queue, id, ticket, life, is_held, is_ours)
    return time_to_wait(queue, id, ticket, life, is_held, not is_ours, true)
end

local function enter_readers(i, _, until_ms, value, ttl, fence, least, is_missing)
    local enter_set = stored[KEYS[2 * i]] and join_readers or open_readers
    return enter_set(i, KEYS[next_companion], value, ttl, fence, least, is_missing, until_ms, true)
end

local function refuse(i, _, _, current, seen, before, is_held)
    if not is_held then
        return {3, before, seen}
    end
    local left_ms = redis.pcall('PTTL', KEYS[2 * i])
    if type(left_ms) == 'table' then
        return left_ms
    end
    return {2, left_ms, string.sub(current, 1, 400), seen, before}
end

local shared = {compare = compare_readers, wait = wait_for_writers, refuse = refuse,
                take = enter_readers}

local function share(i, m, ...)
    return acquire_as(shared, i, m, ...)
end

-- Makes a reader of a writer: the key, which holds its value, is shared from now on. Until the
-- marker is written the writer has the key as before, and the set beside it counts for nothing.
-- Others that would share it have to exceed what the node had seen until now, and so the writer's
-- fence, too. The node's own fence is raised: a command that was sent to the writer's key before,
-- and comes after the readers, must not take it. No time is taken away.
local function share_own(i, set, value, ttl_text, fence, least)
    local key = KEYS[2 * i]
    local left_ms = redis.pcall('PTTL', key)
    if type(left_ms) == 'table' then
        return left_ms
    end
    local lives_ms = math.max(ttl_text + until_next_ms, left_ms)
    -- First of all: a server without memory refuses ZADD unless something was written before.
    local done = redis.pcall('DEL', set)
    if type(done) ~= 'table' then
        done = redis.pcall('ZADD', set, string.format('%.0f', -least), 'base',
                           string.format('%.0f', now_ms + lives_ms), value)
    end
    if type(done) ~= 'table' then
        done = redis.pcall('PEXPIRE', set, lives_ms)
    end
    if type(done) ~= 'table' then
        done = tonumber(fence) > least and
            raise(KEYS[2 * i + 1], fence, lives_ms) or
            put(key, marker, lives_ms)
    end
    if done then
        return done
    end
    known[set] = {base = least, last = value, last_ms = now_ms + lives_ms,
                  lives_ms = now_ms + lives_ms, has_set_expiry = true, are_dead_gone = true}
    leave_queue_of(i, marker, true)  -- the readers at its head may come in
    return 1
end

local function extend_share(i, _, value, ttl, fence)
    local current, set = stored[KEYS[2 * i]], KEYS[next_companion]
    if current and current ~= marker and current ~= value then
        return 0
    end
    local least, is_missing, foreign = fence_to_exceed(KEYS[2 * i + 1])
    if foreign then
        return foreign
    elseif current == value then
        return share_own(i, set, value, ttl, fence, least)
    end
    local until_ms = current and place_of(set, value)
    local refusal = not until_ms and revoked().refuse(KEYS[2 * i + 1], value)
    if refusal then
        return refusal
    end
    local enter = current and join_readers or open_readers
    local answer = enter(i, set, value, ttl, fence, least, is_missing, until_ms)
    if answer == 1 and not until_ms then
        return {1, is_missing and 0 or base_of(set) or least}
    end
    return answer
end

-- Of those that are left the last one decides for how long the key lives; where none is left it
-- goes. Returns whether it went, or the server's error.
local function close_readers(key, set)
    local of = about(set)
    if of.last then
        if of.lives_ms ~= of.last_ms then
            local left_ms = string.format('%.0f', of.last_ms - now_ms)
            redis.pcall('PEXPIRE', key, left_ms)
            redis.pcall('PEXPIRE', set, left_ms)
            of.lives_ms = of.last_ms
        end
        return false
    end
    local done = redis.pcall('DEL', key)
    if done ~= 1 then
        return type(done) == 'table' and done
    end
    redis.pcall('DEL', set)
    stored[key] = false
    return true
end

-- The reader's place where readers have the key. Returns the answer, and whether the key went. What
-- has to be known for that is read first: where the server does not tell, nothing is changed.
local function leave_readers(key, set, value, fence)
    remove_dead(set)
    local last, last_ms = last_besides(set, value)
    local base = fence and base_of(set)
    if last == nil or type(base) == 'table' then
        return last == nil and last_ms or base
    end
    local answer = redis.pcall('ZREM', set, value)
    if type(answer) == 'table' then
        return answer
    end
    about(set).last, about(set).last_ms = last, last_ms
    local is_gone = close_readers(key, set)
    if type(is_gone) == 'table' then
        return is_gone
    end
    if base and not is_gone and base < tonumber(fence) then
        local done = redis.pcall('ZADD', set, '-' .. fence, 'base')
        if type(done) == 'table' then
            return done
        end
        about(set).base = tonumber(fence)
    end
    return answer, is_gone
end

-- A fence is raised for the readers that hold the key, too: what is late must not join them.
local function release_share(i, _, value, fence, id, ticket, life, _, note, is_long)
    local key, set = KEYS[2 * i], KEYS[next_companion]
    local failure = note and note ~= '' and revoked().note(KEYS[2 * i + 1], note, value)
    if failure then
        return failure
    end
    local raises = fence and fence ~= ''
    local current = stored[key]
    if current == false then
        current = redis.pcall('GET', key)  -- which tells what MGET can't read
    end
    local answer, is_gone
    if current == marker then
        answer, is_gone = leave_readers(key, set, value, raises and may_be_late() and fence)
    elseif current == value then
        -- A writer's that was to share the key, and has not got to that on this node.
        answer, is_gone = give_back(i, value, raises)
    else
        -- The set is left over, or holds what is none of ours.
        remove_dead(set)
        local done = redis.pcall('ZREM', set, value)
        answer = type(done) == 'table' and done or type(current) == 'table' and current or
            current and 0 or -1
    end
    if is_gone then
        shorten_fence(i, is_long)
    end
    leave_queue_of(i, current, is_gone, id, ticket, life)
    return raises and raise_fence(i, fence) or answer
end
