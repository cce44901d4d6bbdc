-- Fences, epochs and time limits, included after shared/clock.lua; knows no owner.
-- SPDX-License-Identifier: MIT

local function has_epoch(record, epoch)
    return record and string.sub(record, 1, 22) == epoch
end

-- Why a command that can take a key does nothing; nil where it may go on.
local function refusal(record, epoch, not_after)
    if epoch ~= '' and not has_epoch(record, epoch) then
        return redis.status_reply('AMNESIAC')
    end
    -- A server that was frozen finds old commands in its sockets. Their client may be gone, and the
    -- keys that they take would never be released.
    if not_after ~= '' and node_us() > tonumber(not_after) then
        return redis.status_reply('LATE')
    end
end

-- Returns nil where there is no fence, and false where the text is none of ours.
local function parse_fence(text)
    if not text then
        return nil
    end
    local seen = string.find(text, '^%d+$') and tonumber(text)
    return seen and seen < 9007199254740992 and seen or false
end

-- A proposed fence has to be above this. A missing fence counts as a time near now: to write an
-- older one would lower it.
local function least_fence(seen, allowance)
    return seen or node_us() - allowance
end

local function is_ahead(proposed, seen, allowance)
    return not seen and proposed > node_us() + allowance
end

-- False where the key holds no string: MGET can't read that, so it looks missing, and NX tells.
local function set_fence(key, seen, fence, life_ms)
    return redis.call('SET', key, fence, seen and 'XX' or 'NX', 'PX', life_ms)
end
