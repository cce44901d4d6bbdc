-- Declares that no lease of before can be alive on a node, or undoes that; knows no other node.
-- SPDX-License-Identifier: MIT
--
-- KEYS[1]  the node record (see node.lua)
-- ARGV[1]  what to do
--            open      the whole cluster is new: since becomes 0 where the record bears the mark
--            withdraw  another client's birth goes first: the record goes where it bears the mark
--                      and is so young that nobody can rely on it
--            declare   a person says so: since becomes 0, under a new epoch, whatever was there
-- ARGV[2]  the birth mark; for declare the new epoch
--
-- Returns 1 where it was done, 0 where the record bears another mark or is missing; an error reply
-- FOREIGN where the key holds something else, and WRONGTYPE where it is no string.
local record = redis.pcall('GET', KEYS[1])
if type(record) == 'table' then
    return record
end
if not record then
    return 0
end
local epoch, run_id, since, created, ttl_max, durable, mark =
    string.match(record, '^([%w_-]+) ([%w_-]+) (%d+) (%d+) (%d+) ([01]) ([%w_-]+)$')
if not epoch or #epoch ~= 22 then
    return redis.error_reply('FOREIGN the node record holds something else')
end
if ARGV[1] == 'declare' then
    epoch = ARGV[2]
elseif mark ~= ARGV[2] then
    return 0
end
if ARGV[1] == 'withdraw' then
    -- One that has come of age votes: without its record the node would look as if it had forgotten.
    local time = redis.call('TIME')
    if time[1] * 1000000 + time[2] - since > ttl_max * 500 then
        return 0
    end
    redis.call('DEL', KEYS[1])
else
    redis.call('SET', KEYS[1],
               table.concat({epoch, run_id, '0', created, ttl_max, durable, '-'}, ' '))
end
return 1
