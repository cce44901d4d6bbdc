-- The values that may not take a key again, included after shared/clock.lua; knows no lock.
-- SPDX-License-Identifier: MIT
--
-- An operator took the key from them, or another process gave it back by the lease's token. A
-- sorted set next to the fence of the key: the score is until when the value counts, in ms of this
-- node's clock.
local function revoked_of(fence_key)
    return string.sub(fence_key, 1, -#'fence' - 1) .. 'revoked'
end

-- The answer to a request of that value to take the key again: -2 where it may not, or the server's
-- error; nil where it may.
local function refuse_revoked(fence_key, value)
    local score = redis.pcall('ZSCORE', revoked_of(fence_key), value)
    if type(score) == 'table' then
        return score
    end
    return score and tonumber(score) > node_us() / 1000 and -2 or nil
end

-- Notes the values for so long. Returns nil where that is done, and otherwise the server's error.
local function note_revoked(fence_key, life_ms, ...)
    local revoked = revoked_of(fence_key)
    local now_ms = math.floor(node_us() / 1000)
    local words = {}
    for _, value in ipairs({...}) do
        words[#words + 1] = string.format('%.0f', now_ms + life_ms)
        words[#words + 1] = value
    end
    -- The dead go first: a server without memory refuses ZADD unless something was written before.
    local done = redis.pcall('ZREMRANGEBYSCORE', revoked, '-inf', string.format('%.0f', now_ms))
    if type(done) ~= 'table' then
        done = redis.pcall('ZADD', revoked, unpack(words))
    end
    if type(done) ~= 'table' then
        done = redis.pcall('PTTL', revoked)
    end
    -- Never sooner: another value may count for longer.
    if type(done) ~= 'table' and done < tonumber(life_ms) then
        done = redis.pcall('PEXPIRE', revoked, life_ms)
    end
    return type(done) == 'table' and done or nil
end
