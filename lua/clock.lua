-- Writes to the node record how far the node's clock is from cluster time, and what follows from
-- that for the node's memory; compares no clocks.
-- SPDX-License-Identifier: MIT
--
-- KEYS[1]  the node record (see shared/record.lua)
-- ARGV[1]  what to do
--            keep    the clock agrees with the record, or the record held no offset
--            strike  the clock stepped, or the node's data are older than the record that it had.
--                    Keys may have run out early, or be missing, so the node counts as one that
--                    has just lost its data, under a new epoch
--            open    no earlier lease can be alive
-- ARGV[2]  the epoch that the client read in the record
-- ARGV[3]  the `seen` that it read there; empty where there was none. Where the record holds
--          another epoch or `seen`, nothing is written: the client compared with an older record
-- ARGV[4]  by how much the node's clock is ahead of cluster time, in us
-- ARGV[5]  the error of that, either way, in us
-- ARGV[6]  the new epoch of a strike, or of a record whose quarantine or ttl_max is raised
-- ARGV[7]  cluster time in us, for an `init` that is not known in cluster time yet
-- ARGV[8]  the server's run_id
-- ARGV[9]  empty; or, where the record names an earlier process, 1 where everything that the server
--          answers for is on disk by then, else 0: then the record names the server's process
-- ARGV[10]  and its replication id
-- ARGV[11]  what the quarantine is raised to, in ms; a larger one stands
-- ARGV[12]  the same of ttl_max
--
-- Returns what tell_record in shared/record.lua says of the record as it is now. {time} where there
-- is no record. An error reply FOREIGN where the key holds something else, and WRONGTYPE where it is
-- no string.
-- include shared/clock.lua
-- include shared/record.lua
local now = node_us()
local r, before = read_record(KEYS[1])
if not r then
    return {now}
end
if r.err then
    return r
end
if r.epoch ~= ARGV[2] or decimal(r.seen) ~= (ARGV[3] == '' and '-' or ARGV[3]) then
    return tell_record(r, now, r.run_id ~= ARGV[8] and r.durable == '1' and 2 or 0)
end
local lead = tonumber(ARGV[4])
if ARGV[1] == 'strike' then
    forget(r, now, ARGV[6])
elseif ARGV[1] == 'open' then
    r.since, r.cluster_since, r.mark = 0, 0, '-'
end
local quarantine = math.max(r.quarantine, tonumber(ARGV[11]))
local ttl_max = math.max(r.ttl_max, tonumber(ARGV[12]))
-- Clients that know the smaller ones must read the record again before this node takes their
-- commands. Where there was no ttl_max the node took none.
if quarantine > r.quarantine or (ttl_max > r.ttl_max and r.ttl_max > 0) then
    r.epoch = ARGV[6]
end
r.quarantine, r.ttl_max = quarantine, ttl_max
if ARGV[9] ~= '' then
    r.run_id, r.durable, r.replid = ARGV[8], ARGV[9], ARGV[10]
end
-- Where cluster time was not known when `since` was set, `since` in cluster time is now.
r.cluster_since = r.cluster_since or (r.since == 0 and 0 or now - lead)
if (r.became or 0) > 0 then
    r.became_cluster = r.became_cluster or now - lead
end
if r.init == 0 then
    r.init = tonumber(ARGV[7])
end
r.offset, r.error, r.seen = lead, tonumber(ARGV[5]), now
keep_record(KEYS[1], r, before)
return tell_record(r, now, 1)
