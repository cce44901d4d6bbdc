-- Reads the node record, or replaces it where it is still what the client read; knows no word of it
-- and no lock.
-- SPDX-License-Identifier: MIT
--
-- KEYS[1]  the node record: its epoch, 22 characters, and words NAME=VALUE ARGV[1]  nothing to
-- read; else the record as the client read it, empty where there was none ARGV[2]  the record that
-- follows; empty: there is none. A value "@now+N" or "@now-N" is so many us
--          after, or before, the time of this node's clock
-- ARGV[3]  the time of this node's clock, in us, after which nothing is replaced; empty: no limit
--
-- Returns {time, record}, nil where there is none; an error where the key holds no string.
-- include shared/clock.lua
local now = node_us()
local found = redis.pcall('GET', KEYS[1])
if type(found) == 'table' then
    return found
end
local before, text = ARGV[1], ARGV[2]
if text and (found or '') == before and (found ~= '') and now <= (tonumber(ARGV[3]) or now) then
    found = string.gsub(text, '=@now([+-]%d+)', function(more)
        return string.format('=%.0f', now + tonumber(more))
    end)
    if found == '' then
        redis.call('DEL', KEYS[1])
        found = false
    else
        -- Twice, so that the append-only file has it as a transaction, as it has leases. Redis from
        -- 7.0 and Valkey read transactions with the rights of the user `default`: where that has
        -- none, a restarted server has forgotten all leases, and must not have a record that says
        -- the contrary.
        redis.call('SET', KEYS[1], found)
        redis.call('SET', KEYS[1], found)
    end
end
return {now, found}
