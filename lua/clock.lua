-- Writes to the node record how far the node's clock is from cluster time, or that it stepped;
-- compares no clocks.
-- SPDX-License-Identifier: MIT
--
-- KEYS[1]  the node record (see shared/record.lua)
-- ARGV[1]  what to do
--            keep    the clock agrees with the record, or the record held no offset
--            strike  the clock stepped. Keys may have run out early, so the node counts as one that
--                    has just lost its data, under a new epoch
-- ARGV[2]  the epoch that the client read in the record
-- ARGV[3]  the `seen` that it read there; empty where there was none. Where the record holds
--          another epoch or `seen`, nothing is written: the client compared with an older record
-- ARGV[4]  by how much the node's clock is ahead of cluster time, in us
-- ARGV[5]  the error of that, either way, in us
-- ARGV[6]  the new epoch of a strike
--
-- Returns what node.lua returns, of the record as it is now; the sixth is 1 where it was written.
-- {time} where there is no record. An error reply FOREIGN where the key holds something else, and
-- WRONGTYPE where it is no string.
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
    return tell_record(r, now, 0)
end
local lead = tonumber(ARGV[4])
if ARGV[1] == 'strike' then
    forget(r, now, ARGV[6])
end
-- Where cluster time was not known when `since` was set, `since` in cluster time is now.
r.cluster_since = r.cluster_since or (r.since == 0 and 0 or now - lead)
r.offset, r.error, r.seen = lead, tonumber(ARGV[5]), now
keep_record(KEYS[1], r, before)
return tell_record(r, now, 1)
