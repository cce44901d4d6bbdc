-- Notes a run under a lock, which is a best effort: no rule of locks looks at it.
-- SPDX-License-Identifier: MIT
--
-- KEYS[1]  a string, one line for each run: an id and words NAME=VALUE
-- ARGV[1]  the line of a run, which takes the place of the one with the same id
-- ARGV[2]  its id
-- ARGV[3]  for how long, in ms, the record is kept at least from now on
-- ARGV[4]  so many lines are kept
--
-- Returns the lines. A line without an end, which comes late, replaces none that has one.
local lines, count = {ARGV[1]}, 1
for line in string.gmatch(redis.call('GET', KEYS[1]) or '', '[^\n]+') do
    if string.match(line, '^[^ ]*') == ARGV[2] then
        if string.find(line, ' end=', 1, true) and not string.find(ARGV[1], ' end=', 1, true) then
            lines[1] = line
        end
    elseif count < tonumber(ARGV[4]) then
        count = count + 1
        lines[count] = line
    end
end
local text = table.concat(lines, '\n')
local life = math.max(tonumber(ARGV[3]), redis.call('PTTL', KEYS[1]))
redis.call('SET', KEYS[1], text, 'PX', string.format('%.0f', life))
return text
