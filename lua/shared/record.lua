-- The node record, included by the scripts that read and write it; knows no lock.
-- SPDX-License-Identifier: MIT
--
-- A string of words, "-" for one that is not known:
--   epoch          22 characters, new whenever earlier votes of the node must not count any more
--   run_id         of the server process
--   since          from when on the node remembers its leases, in us of its own clock; 0: no
--                  earlier lease can be alive
--   created        when the record was made, in us of the node's clock
--   ttl_max        the longest that a lease may ask for, in ms; 0: none, until a client knows one
--   durable        1 where each write is on disk before it is answered, else 0
--   mark           the bootstrap mark of a client that has not yet opened the node
--   replid         the server's replication id
--   cluster_since  `since` in cluster time, in us
--   set            the set of nodes to which the node belongs
--   offset         by how much the node's clock was ahead of cluster time, in us
--   error          the error of `offset`, either way, in us
--   seen           when `offset` was measured, in us of the node's clock
--   init           when it was last said that no earlier lease can be alive on any node, in us of
--                  cluster time; 0: since the last write of the clock
--   quarantine     how long the node waits for leases that it may have forgotten, in ms
--   names          what the client that named the set calls its nodes, for people: see
--                  src/wire/record.hpp
-- and, where the list of nodes was changed or is about to be:
--   number         how often it was changed until then
--   change         -: the node is a member of the set; joining: it will be one of another set, which
--                  follows this one; else the set for which the node is closed
--   announced      the set that a program with a joint list named as the one to follow
--   promised       the highest ballot of a change that the node takes: NUMBER.ID
--   accepted       the ballot under which it was closed
--   became         when it became a member by a change, in us of the node's clock; 0: it was not
--   became_cluster the same in cluster time
--   history        the sets before this one, latest first: NUMBER=SET,NUMBER=SET
-- docs/design.md, "Which node may vote", says what they are for.
local shape = '^([%w_-]+) ([%w_-]+) (%d+) (%d+) (%d+) ([01]) ([%w_-]+)' ..
              ' ([%w_-]+) (%-?%d*) ([%w_:-]+) (%-?%d*) (%-?%d*) (%-?%d*) (%-?%d*) (%-?%d*) ([%w%%_.:/=,-]+)$'

-- Of a set whose list never changed these words are not there.
local change_shape = ' (%d+) ([%w:-]+) ([%w:-]+) ([%w._-]+) ([%w._-]+) (%d+) (%-?%d*) ([%w:=,-]+)$'
local most_remembered = 8

-- Reads the words about a change, which may be none, to a record.
local function parse_change(r, text)
    local number, change, announced, promised, accepted, became, became_cluster, history =
        string.match(text, change_shape)
    r.number, r.change, r.announced = tonumber(number or 0), change or '-', announced or '-'
    r.promised, r.accepted = promised or '-', accepted or '-'
    r.became, r.became_cluster = tonumber(became or 0), tonumber(became_cluster)
    r.history = history or '-'
    return r
end

-- Returns nil where the text is no record. Words are made of known characters only: string.format
-- would cut a word at a byte 0.
local function parse_record(text)
    local epoch, run_id, since, created, ttl_max, durable, mark, replid, cluster_since, set, offset,
        err, seen, init, quarantine, names = string.match(text, shape)
    local words_of_change = ''
    if not epoch then
        local head = string.match(text, '^(.-)' .. change_shape)
        if not head then
            return nil
        end
        words_of_change = string.sub(text, #head + 1)
        epoch, run_id, since, created, ttl_max, durable, mark, replid, cluster_since, set, offset,
            err, seen, init, quarantine, names = string.match(head, shape)
        if not epoch then
            return nil
        end
    end
    local r = {epoch = epoch, run_id = run_id, since = tonumber(since), created = tonumber(created),
               ttl_max = tonumber(ttl_max), durable = durable, mark = mark, replid = replid,
               cluster_since = tonumber(cluster_since), set = set, offset = tonumber(offset),
               error = tonumber(err), seen = tonumber(seen), init = tonumber(init),
               quarantine = tonumber(quarantine) or tonumber(ttl_max),
               names = names}
    local largest = math.max(r.since, r.created, r.ttl_max, math.abs(r.cluster_since or 0),
                             math.abs(r.offset or 0), math.abs(r.error or 0), math.abs(r.seen or 0),
                             math.abs(r.init or 0), math.abs(r.quarantine))
    parse_change(r, words_of_change)
    largest = math.max(largest, r.number, r.became, math.abs(r.became_cluster or 0))
    if #epoch ~= 22 or r.quarantine <= 0 or largest >= 9007199254740992 then
        return nil
    end
    return r
end

local function decimal(number)
    return number and string.format('%.0f', number) or '-'
end

local function words_about_change(r)
    if (r.number or 0) == 0 and (r.change or '-') == '-' and (r.announced or '-') == '-' and
        (r.promised or '-') == '-' then
        return ''
    end
    return ' ' .. table.concat({decimal(r.number), r.change, r.announced, r.promised, r.accepted,
                                decimal(r.became), decimal(r.became_cluster), r.history}, ' ')
end

-- Writes the record where it differs from `before`, the text that the key holds. Twice, so that the
-- append-only file has it as a transaction, as it has leases. Redis from 7.0 and Valkey read
-- transactions with the rights of the user `default`: where that has none, a restarted server has
-- forgotten all leases, and must not have a record that says the contrary.
local function keep_record(key, r, before)
    local text = table.concat({r.epoch, r.run_id, decimal(r.since), decimal(r.created),
                               decimal(r.ttl_max), r.durable, r.mark, r.replid,
                               decimal(r.cluster_since), r.set, decimal(r.offset),
                               decimal(r.error), decimal(r.seen), decimal(r.init),
                               decimal(r.quarantine), r.names or '-'}, ' ') ..
        words_about_change(r)
    if text ~= before then
        redis.call('SET', key, text)
        redis.call('SET', key, text)
    end
end

-- From `now` on, all that the node granted earlier counts as forgotten. `now` in cluster time is
-- not known here.
local function forget(r, now, epoch)
    r.epoch, r.since, r.cluster_since, r.mark = epoch, now, nil, '-'
    if (r.became or 0) > 0 then
        r.became, r.became_cluster = now, nil
    end
end

-- The answer of the scripts about a record: {time, epoch, since, ttl_max, mark, what,
-- cluster_since, offset, error, seen, quarantine, init}, numbers as integers, or empty where they
-- are not known; and, of a set that was changed or is not the client's, {set, names, number, change,
-- announced, promised, accepted, became, became_cluster, history}; with `names_set` always. `what` is
--   0  the record as it was
--   1  the record that this call made or wrote
--   2  the record names an earlier process, whose data may have survived: nothing was written
--   3  the node may have forgotten leases since: a client that keeps records would reset this one
--   4  the node belongs to another set than the client names: nothing was written
--   5  it became a member too recently for what was asked
--   6  it has promised a higher ballot
local function tell_record(r, now, what, names_set)
    local told = {now, r.epoch, r.since, r.ttl_max, r.mark, what, r.cluster_since or '', r.offset or '',
            r.error or '', r.seen or '', r.quarantine, r.init or ''}
    if what == 4 or names_set or words_about_change(r) ~= '' then
        for _, word in ipairs({r.set, r.names or '-', r.number or 0, r.change or '-',
                               r.announced or '-', r.promised or '-', r.accepted or '-',
                               r.became or 0, r.became_cluster or '', r.history or '-'}) do
            told[#told + 1] = word
        end
    end
    return told
end

-- Returns the record and its text; an error reply where the key holds something else; nil where
-- there is no record.
local function read_record(key)
    local text = redis.pcall('GET', key)
    if type(text) == 'table' then
        return text
    end
    if not text then
        return nil
    end
    -- A record of an earlier version ends with `quarantine`, `seen` or the mark.
    local r = parse_record(text) or parse_record(text .. ' -') or
              parse_record(text .. ' - - -') or parse_record(text .. ' - - - - - - - - -')
    if not r then
        return redis.error_reply('FOREIGN the node record holds something else')
    end
    return r, text
end
