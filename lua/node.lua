-- Reads and keeps the node record: since when a node can be trusted to remember; knows no lock.
-- SPDX-License-Identifier: MIT
--
-- KEYS[1]  the node record
-- ARGV[1]  the server's run_id
-- ARGV[2]  1 where everything it answers for is on disk by then, else 0; empty, long after the
--          handshake: this and the replication id stay as the same process has them there
-- ARGV[3]  the quarantine of a record that is made here, in ms
-- ARGV[4]  an epoch for a record that is made, or reset, here: 22 characters
-- ARGV[5]  what may be written
--            judge  nothing, for a client that only looks
--            look   nothing where there is no record
--            -      a record where there is none
--            other  a record with this bootstrap mark where there is none: it is one of a cluster
--                   that may be all new
--            peek   nothing, nor where there is a record: only the set is compared
-- ARGV[6]  the server's replication id
-- ARGV[7]  the set of nodes that the client names
-- ARGV[8]  the ttl_max of a record that is made here, in ms; 0: none yet
-- ARGV[9]  what the client calls the nodes of the set: `names` in shared/record.lua
-- ARGV[10]  where the list changes: the set of the new list; empty, where the client has one list
-- ARGV[11]  of a record that is made here: empty, or its set, and its words about a change
--
-- `since` stays for the same process with the same replication id. Another process whose data was
-- and is durable may have all leases of the earlier one, or be started with files that lack the
-- leases of a life between the two. The script can't know, so nothing is written: a client that
-- knows cluster time decides, and writes that by clock.lua. `since` becomes now, under a new epoch,
-- after any other start; where the process has another replication id than before, since it was a
-- replica meanwhile and has another server's data; and where the clock went back beyond `since`.
--
-- Returns what tell_record in shared/record.lua says. {time} where there is no record and none was made. An error reply
-- FOREIGN where the key holds something else, and WRONGTYPE where it is no string.
-- include shared/clock.lua
-- include shared/record.lua
local now = node_us()
local run_id, durable, quarantine, epoch = ARGV[1], ARGV[2], tonumber(ARGV[3]), ARGV[4]
local absent, replid, set, ttl_max = ARGV[5], ARGV[6], ARGV[7], tonumber(ARGV[8])
local after = ARGV[10] or ''
local r, before = read_record(KEYS[1])
if r and r.err then
    return r
end
if r and r.set ~= '-' and r.set ~= set and r.set ~= after then
    return tell_record(r, now, 4)
end
if absent == 'peek' and r and words_about_change(r) ~= '' then
    return tell_record(r, now, 0)
end
if absent == 'peek' or not r and (absent == 'look' or absent == 'judge') then
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

local made = 0
if not r then
    made = 1
    r = {created = now, quarantine = quarantine, ttl_max = ttl_max}
    forget(r, now, epoch)
    r.mark, r.set, r.names = absent, set, ARGV[9]
    local given, change = string.match(ARGV[11] or '', '^(%S+)( .+)$')
    if given then
        r.set, r.names = given, given == set and ARGV[9] or '-'
        parse_change(r, change)
    end
else
    local is_same_process = r.run_id == run_id and (r.replid == '-' or r.replid == replid)
    local may_have_survived = r.run_id ~= run_id and r.durable == '1' and durable == '1'
    if r.since > now or not (is_same_process or may_have_survived) then
        if absent == 'judge' then
            return tell_record(r, now, 3, after ~= '')
        end
        forget(r, now, epoch)
    elseif may_have_survived then
        return tell_record(r, now, 2, after ~= '')
    end
end
if absent ~= 'judge' then
    r.run_id, r.durable, r.replid = run_id, durable, replid
    if r.set == '-' or r.set == set then
        r.set, r.names = set, ARGV[9]
        if after ~= '' and (r.announced or '-') == '-' then
            r.announced = after
        end
    end
    keep_record(KEYS[1], r, before)
end
return tell_record(r, now, made, after ~= '')
