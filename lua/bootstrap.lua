-- Declares that no earlier lease can be alive on a node, or undoes that; knows no other node.
-- SPDX-License-Identifier: MIT
--
-- KEYS[1]  the node record (see node.lua)
-- ARGV[1]  what to do
--            open      the whole cluster is new: since becomes 0 where the record bears the mark
--            withdraw  another client's bootstrap goes first: the record goes where it bears the mark
--                      and is so young that nobody can rely on it
--            declare   an operator says so: since becomes 0, under a new epoch, and the node
--                      belongs to the given set from now on, whether or not there was a record
-- ARGV[2]  the bootstrap mark; for declare the new epoch
-- ARGV[3..7]  for declare: run_id and durable as in node.lua; what the node has from now on as
--          ttl_max and as quarantine, in ms; replication id and set as in node.lua
-- ARGV[8..10]  for declare: cluster time when the client began, in us; by how much the node's clock
--          is ahead of that, and the error of that, either way, in us. Empty where not known
-- ARGV[11]  for declare: what the client calls the nodes of the set, as in node.lua
-- ARGV[12]  for declare: how often the list was changed, by the records that the client has met
--
-- Returns 1 where it was done, 0 where the record bears another mark or is missing; an error reply
-- FOREIGN where the key holds something else, and WRONGTYPE where it is no string.
-- include shared/clock.lua
-- include shared/record.lua
local now = node_us()
local r, before = read_record(KEYS[1])
if r and r.err then
    return r
end
if ARGV[1] == 'declare' then
    r = r or {created = now}
    r.epoch, r.run_id, r.durable, r.replid, r.set = ARGV[2], ARGV[3], ARGV[4], ARGV[6], ARGV[7]
    r.ttl_max, r.quarantine = tonumber(ARGV[5]), tonumber(ARGV[5])
    r.names = ARGV[11]
    parse_change(r, '')
    r.number = tonumber(ARGV[12])
    if ARGV[9] ~= '' then
        r.offset, r.error, r.seen = tonumber(ARGV[9]), tonumber(ARGV[10]), now
    end
elseif not r or r.mark ~= ARGV[2] then
    return 0
end
if ARGV[1] == 'withdraw' then
    -- One that has come of age votes: without its record the node would look as if it had forgotten.
    if now - r.since > r.quarantine * 500 then
        return 0
    end
    redis.call('DEL', KEYS[1])
    return 1
end
r.since, r.cluster_since, r.mark = 0, 0, '-'
r.init = ARGV[1] == 'declare' and tonumber(ARGV[8]) or 0
keep_record(KEYS[1], r, before)
return 1
