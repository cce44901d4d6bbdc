-- Reads and keeps the node record: since when a node can be trusted to remember; knows no lock.
-- SPDX-License-Identifier: MIT
--
-- KEYS[1]  the node record
-- ARGV[1]  the server's run_id
-- ARGV[2]  1 where everything it answers for is on disk by then, else 0
-- ARGV[3]  the client's ttl_max in ms
-- ARGV[4]  an epoch for a record that is made, or reset, here: 22 characters
-- ARGV[5]  what to do where there is no record:
--            look   nothing
--            -      make one
--            other  make one with this birth mark: it is one of a cluster that may be all new
--
-- The record is "epoch run_id since created ttl_max durable mark": since and created in us of this
-- node's clock, since 0 where no lease of before can be alive; ttl_max in ms; mark - for none.
-- What happens to it is section 4.4 of the design: the same process, or data that was and is
-- durable, leaves `since` where it was; any other start sets it to now, under a new epoch. So does
-- a clock that went back beyond it. A larger ttl_max has a new epoch, too: the clients that know the
-- smaller one have to read the record again before anything they send here counts.
--
-- Returns {time, epoch, since, ttl_max, mark, made}: the numbers as integers, ttl_max as it stood
-- on record, made 1 where the record was made by this very call; {time} where there is none and
-- none was made. An error reply
-- FOREIGN where the key holds something else, and WRONGTYPE where it is no string.
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local record = redis.pcall('GET', KEYS[1])
if type(record) == 'table' then
    return record
end
local run_id, durable, ttl_max = ARGV[1], ARGV[2], tonumber(ARGV[3])

local function answer(r, made, known_ttl_max)
    local text = string.format('%s %s %.0f %.0f %.0f %s %s', r.epoch, r.run_id, r.since, r.created,
                               r.ttl_max, r.durable, r.mark)
    if text ~= record then
        redis.call('SET', KEYS[1], text)
    end
    return {now, r.epoch, r.since, known_ttl_max, r.mark, made}
end

if not record then
    if ARGV[5] == 'look' then
        return {now}
    end
    return answer({epoch = ARGV[4], run_id = run_id, since = now, created = now,
                   ttl_max = ttl_max, durable = durable, mark = ARGV[5]}, 1, ttl_max)
end

-- Words of ours only: string.format would cut a word at a byte 0.
local r = {}
r.epoch, r.run_id, r.since, r.created, r.ttl_max, r.durable, r.mark =
    string.match(record, '^([%w_-]+) ([%w_-]+) (%d+) (%d+) (%d+) ([01]) ([%w_-]+)$')
r.since = tonumber(r.since)
r.created = tonumber(r.created)
r.ttl_max = tonumber(r.ttl_max)
if not r.since or #r.epoch ~= 22 or
   math.max(r.since, r.created, r.ttl_max) >= 9007199254740992 then
    return redis.error_reply('FOREIGN the node record holds something else')
end
local known_ttl_max = r.ttl_max
if ttl_max > known_ttl_max then
    r.epoch, r.ttl_max = ARGV[4], ttl_max
end
local has_kept_data = r.run_id == run_id or (r.durable == '1' and durable == '1')
if not has_kept_data or r.since > now then
    r.epoch, r.since, r.mark = ARGV[4], now, '-'
end
r.run_id = run_id
r.durable = durable
return answer(r, 0, known_ttl_max)
