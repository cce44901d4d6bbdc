-- This node's clock, included by the scripts that read it; knows no key.
-- SPDX-License-Identifier: MIT
local function node_us()
    local time = redis.call('TIME')
    return time[1] * 1000000 + time[2]
end

local function node_ms()
    return math.floor(node_us() / 1000)
end
