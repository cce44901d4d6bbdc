-- For how long a node keeps a fence; included after shared/clock.lua.
-- SPDX-License-Identifier: MIT

-- In ms: until this node's time is ahead of the fence by the most that any program's `allowance` is.
-- From then on a node without the fence refuses all that it would refuse with it: shared/fence.lua.
-- At least for as long after it is written, and for `least_ms`; at most for `most_ms`.
local grace_ms = 15000
local function life_of(fence, least_ms, most_ms)
    local needed_ms = math.ceil((fence - node_us()) / 1000) + grace_ms
    return math.min(math.max(needed_ms, least_ms, grace_ms), most_ms)
end
