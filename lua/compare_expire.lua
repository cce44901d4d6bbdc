-- Prolongs a key if it holds a value; knows nothing of queues, fences or other nodes.
-- SPDX-License-Identifier: MIT
--
-- KEYS[1]  the key
-- ARGV[1]  the owner value
-- ARGV[2]  the ttl in ms, counted from now
--
-- Returns 1 if the key holds the value and now lives for the ttl or longer, 0 if it holds another
-- value, -1 if there is no key. Never shortens: a key that would live longer, or for ever, keeps
-- its time. A key that is not a string gives an error reply: WRONGTYPE, which before Redis 7
-- stands inside its text.
local held = redis.call('GET', KEYS[1])
if held == ARGV[1] then
    local left_ms = redis.call('PTTL', KEYS[1])
    if left_ms >= 0 and left_ms < tonumber(ARGV[2]) then
        redis.call('PEXPIRE', KEYS[1], ARGV[2])
    end
    return 1
end
return held and 0 or -1
