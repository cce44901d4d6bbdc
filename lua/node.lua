-- Reads and keeps the node record: since when a node can be trusted to remember; knows no lock.
-- SPDX-License-Identifier: MIT
--
-- KEYS[1]  the node record
-- ARGV[1]  the server's run_id
-- ARGV[2]  1 where everything it answers for is on disk by then, else 0; empty, long after the
--          handshake: this and the replication id stay as the same process has them there
-- ARGV[3]  the client's ttl_max in ms
-- ARGV[4]  an epoch for a record that is made, or reset, here: 22 characters
-- ARGV[5]  what to do where there is no record:
--            look   nothing
--            -      make one
--            other  make one with this bootstrap mark: it is one of a cluster that may be all new
--            peek   nothing, nor where there is a record: only the set is compared
-- ARGV[6]  the server's replication id
-- ARGV[7]  the set of nodes that the client names
--
-- `since` stays for the same process with the same replication id, and for data that was and is
-- durable. It becomes now, under a new epoch, after any other start; where the process has another
-- replication id than before, since it was a replica meanwhile and has another server's data; and
-- where the clock went back beyond `since`. A larger ttl_max also gets a new epoch: clients that
-- know the smaller one must read the record again before this node takes their commands.
--
-- Returns {time, epoch, since, ttl_max, mark, made, cluster_since, offset, error, seen}: numbers as
-- integers, or empty where they are not known; ttl_max as it was before this call; made is 1 where
-- this call made the record. {time, set} where the node belongs to another set: then nothing was
-- written. {time} where there is no record and none was made. An error reply FOREIGN where the key
-- holds something else, and WRONGTYPE where it is no string.
-- include shared/clock.lua
-- include shared/record.lua
local now = node_us()
local run_id, durable, ttl_max, epoch = ARGV[1], ARGV[2], tonumber(ARGV[3]), ARGV[4]
local absent, replid, set = ARGV[5], ARGV[6], ARGV[7]
local r, before = read_record(KEYS[1])
if r and r.err then
    return r
end
if r and r.set ~= '-' and r.set ~= set then
    return {now, r.set}
end
if absent == 'peek' or not r and absent == 'look' then
    return {now}
end
-- By now another client may know better. A first replica that attaches gives the server another
-- replication id: the handshakes that follow reset the record once, and the looks must not undo it.
if durable == '' then
    durable = '0'
    if r and r.run_id == run_id then
        durable, replid = r.durable, r.replid
    end
end

if r and r.run_id == run_id and r.replid == replid and r.durable == durable and r.set == set and
    r.ttl_max >= ttl_max and r.since <= now then
    return tell_record(r, now, 0)  -- the usual case: nothing has changed
end
local known_ttl_max, made = ttl_max, 0
if r then
    known_ttl_max = r.ttl_max
    if ttl_max > known_ttl_max then
        r.epoch, r.ttl_max = epoch, ttl_max
    end
    local is_same_process = r.run_id == run_id and (r.replid == '-' or r.replid == replid)
    local has_survived = r.run_id ~= run_id and r.durable == '1' and durable == '1'
    if not (is_same_process or has_survived) or r.since > now then
        forget(r, now, epoch)
    end
else
    made = 1
    r = {created = now, ttl_max = ttl_max}
    forget(r, now, epoch)
    r.mark = absent
end
r.run_id, r.durable, r.replid, r.set = run_id, durable, replid, set
keep_record(KEYS[1], r, before)
return tell_record(r, now, made, known_ttl_max)
