-- Deletes a key if it holds a value; knows nothing of queues, fences or other nodes.
-- SPDX-License-Identifier: MIT
--
-- KEYS[1]  the key
-- ARGV[1]  the owner value
--
-- Returns 1 if the key was deleted, 0 if it holds another value, -1 if there is no key. A key that
-- is not a string gives an error reply: WRONGTYPE, which before Redis 7 stands inside its text.
local held = redis.call('GET', KEYS[1])
if held == ARGV[1] then
    redis.call('DEL', KEYS[1])
    return 1
end
return held and 0 or -1
