-- For how long a node keeps a fence; included after shared/clock.lua.
-- SPDX-License-Identifier: MIT

-- In ms: until this node's time is ahead of the fence by the most that any program's `allowance` is.
-- From then on a node without the fence refuses all that it would refuse with it: shared/fence.lua.
-- At least, and at most, for so long.
local function life_of(fence, least_ms, most_ms)
    local needed_ms = math.ceil((fence - node_us()) / 1000) + 15000
    return math.min(math.max(needed_ms, least_ms, 1), most_ms)
end
