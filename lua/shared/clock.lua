-- This node's clock, read once in each script that needs it; knows no key.
-- SPDX-License-Identifier: MIT
local time_us
local function node_us()
    if not time_us then
        local time = redis.call('TIME')
        time_us = time[1] * 1000000 + time[2]
    end
    return time_us
end
