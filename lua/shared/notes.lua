-- The notes of leases: a line for people, in a key of its own; knows no lock.
-- SPDX-License-Identifier: MIT
--
-- The value of a lease that has a note ends with "#note", so nobody looks for one elsewhere. The key
-- holds that value, a line feed and the text, and lives as long as the lease. Who reads it compares
-- the value: another lease may have the lock since. Each reader of a lock has a key of its own for its
-- note, which so ends with the reader, and is found without a look at the others. It is advice: where
-- the server refuses to write it, the lease is granted all the same.
local function begins_with(name, value)
    return redis.pcall('GETRANGE', name, 0, #value) == value .. '\n'
end

-- An empty text is that of another process, which gave the lease to this one: it stays.
local function write_note(name, value, text, life_ms)
    if text ~= '' then
        redis.pcall('SET', name, value .. '\n' .. text, 'PX', life_ms)
    elseif begins_with(name, value) then
        redis.pcall('PEXPIRE', name, life_ms)
    end
end

local function delete_note(name, value)
    if begins_with(name, value) then
        redis.pcall('DEL', name)
    end
end

-- Empty where there is none of that value.
local function read_note(name, value)
    local text = redis.pcall('GETRANGE', name, 0, #value + 256)
    if type(text) == 'string' and string.sub(text, 1, #value + 1) == value .. '\n' then
        return string.sub(text, #value + 2)
    end
    return ''
end

-- For how long the lease has the key, which it has, or has taken for so long.
local function life_of(key, ttl)
    local left_ms = redis.pcall('PTTL', key)
    return type(left_ms) == 'number' and left_ms > 0 and left_ms or ttl
end
