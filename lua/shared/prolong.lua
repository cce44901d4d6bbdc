-- Prolonging a key; knows neither its owner nor its fence.
-- SPDX-License-Identifier: MIT

-- Makes a key that is ours live for the ttl or longer. One without expiry gets the ttl, too: the
-- only exception to "prolong, never shorten". No lock is written without an expiry, so somebody
-- took it away (PERSIST), and if the holder died the key would stay. Returns 1, or the server's
-- error.
local has_gt = redis.REDIS_VERSION_NUM  -- of Redis 7.0 and newer, whose PEXPIRE knows GT
local function prolong(key, ttl)
    local answer = has_gt and redis.pcall('PEXPIRE', key, ttl, 'GT') or 0
    if answer == 0 then  -- it lives for longer, or has no expiry
        answer = redis.pcall('PTTL', key)
        if type(answer) == 'number' and answer >= -1 and answer < tonumber(ttl) then
            answer = redis.pcall('PEXPIRE', key, ttl)
        end
    end
    return type(answer) == 'table' and answer or 1
end
