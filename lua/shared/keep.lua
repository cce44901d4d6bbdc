-- Leaving a key in the way of others once its lease is over; knows no fence.
-- SPDX-License-Identifier: MIT

-- The key, which holds the value, runs out in so many ms; below zero: in so many at most, and no
-- later than it would. Until then it holds VALUE#kept: no program takes it for its lease, and no
-- command that is late prolongs it. Returns 1, or the server's error.
local function keep_for(key, value, keep_ms)
    local left = tonumber(keep_ms)
    if left < 0 then
        local lives = redis.pcall('PTTL', key)
        if type(lives) == 'table' then
            return lives
        end
        left = lives < 0 and -left or math.max(math.min(-left, lives), 1)
    end
    -- First the time: a server without memory refuses SET unless something was written before.
    local done = redis.pcall('PEXPIRE', key, left)
    if type(done) ~= 'table' then
        done = redis.pcall('SET', key, value .. '#kept', 'PX', left)
    end
    return done.err and done or 1
end
