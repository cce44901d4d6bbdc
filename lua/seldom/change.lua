-- One step of a change of the list of nodes, on the record of one node; knows no other node.
-- SPDX-License-Identifier: MIT
--
-- KEYS[1]  the node record (see shared/record.lua)
-- ARGV[1]  the step
--            read     nothing is written
--            promise  from now on only that ballot or a higher one may close the node
--            close    where the node has that promise still: it takes only programs with the joint
--                     list of its set and ARGV[7]
--            become   the node is a member of ARGV[7]
-- ARGV[2]  the set that the record has, and ARGV[3] its number: where it has others, nothing is
--          written. The client read them earlier, and another one may have changed them since
-- ARGV[4]  empty; or the epoch that the record has, likewise
-- ARGV[5]  a new epoch, 22 characters: what the client knows by the earlier one counts no more
-- ARGV[6]  promise, close: the ballot, NUMBER.ID
-- ARGV[7]  close, become: the set that follows
-- ARGV[8]  promise, close: for how many us a member that has just become one can't be closed
-- For become, further
-- ARGV[9]  what the client calls the nodes of that set
-- ARGV[10]  its number
-- ARGV[11]  its history
-- ARGV[12], ARGV[13]  what the quarantine and ttl_max are raised to at least, in ms
-- ARGV[14]  1 where the node may have missed leases: its quarantine begins again. 0 where it
--          remembers its leases. keep where it does, and no program has to wait since the same list
--          goes on
-- ARGV[15]  -; or joining, where the node is still to become a member of the set that follows
--
-- Returns what tell_record in shared/record.lua says of the record as it is now; what is 1 where the
-- step was done. {time} where there is no record. An error reply FOREIGN where the key holds
-- something else, and WRONGTYPE where it is no string.
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
local step = ARGV[1]
if step == 'read' or r.set ~= ARGV[2] or r.number ~= tonumber(ARGV[3]) or
    ARGV[4] ~= '' and r.epoch ~= ARGV[4] then
    return tell_record(r, now, 0)
end

-- Whether ballot a is above b.
local function is_above(a, b)
    local a_number, a_id = string.match(a, '^(%d+)%.(.+)$')
    local b_number, b_id = string.match(b, '^(%d+)%.(.+)$')
    if not a_number or not b_number then
        return b == '-' and a ~= '-'
    end
    a_number, b_number = tonumber(a_number), tonumber(b_number)
    return a_number > b_number or a_number == b_number and a_id > b_id
end

local is_young = r.became > 0 and
    (now - r.became < tonumber(ARGV[8]) or not r.became_cluster or not r.offset or
     now - r.offset - r.became_cluster < tonumber(ARGV[8]))
local ballot = ARGV[6]
if step ~= 'become' then
    if r.change == 'joining' then
        return tell_record(r, now, 0)
    end
    if is_young then
        return tell_record(r, now, 5)
    end
    -- A node that lost its record since its promise may have promised a higher ballot: it has to have
    -- this promise still.
    if is_above(r.promised, ballot) or (step == 'promise') == (r.promised == ballot) then
        return tell_record(r, now, 6)
    end
end
if step == 'promise' then
    r.promised = ballot
elseif step == 'close' then
    if r.accepted ~= ballot then
        r.epoch = ARGV[5]
    end
    r.change, r.promised, r.accepted = ARGV[7], ballot, ballot
else
    r.set, r.names, r.number, r.history = ARGV[7], ARGV[9], tonumber(ARGV[10]), ARGV[11]
    r.change, r.announced, r.promised, r.accepted = ARGV[15], '-', '-', '-'
    r.quarantine = math.max(r.quarantine, tonumber(ARGV[12]))
    r.ttl_max = math.max(r.ttl_max, tonumber(ARGV[13]))
    r.epoch = ARGV[5]
    if ARGV[14] == 'keep' then
        r.became, r.became_cluster = 0, nil
    else
        r.became, r.became_cluster = now, r.offset and now - r.offset
    end
    if ARGV[14] == '1' then
        forget(r, now, ARGV[5])
    end
end
keep_record(KEYS[1], r, before)
return tell_record(r, now, 1)
