-- For how long a node keeps a fence; included after shared/clock.lua.
-- SPDX-License-Identifier: MIT

-- In ms, as text: until this node's time is ahead of the fence by the most that any program's
-- `allowance` is. From then on a node without the fence refuses all that it would refuse with it:
-- shared/fence.lua. At least for as long after it is written, and for `least_ms`; at most for
-- `most_ms`, which is the same in the whole script. In steps of a second: so the requests of a
-- command have it in common, and the text, which takes long to make, is made once.
local grace_ms = '15000'
local ahead_before, least_before, life
local function life_of(fence, least_ms, most_ms)
    local ahead_us = fence - node_us()
    local ahead_s = ahead_us > 0 and math.ceil(ahead_us / 1000000) or 0
    if ahead_s ~= ahead_before or least_ms ~= least_before then
        ahead_before, least_before = ahead_s, least_ms
        local ms = math.min(math.max(grace_ms + 1000 * ahead_s, least_ms), most_ms)
        life = ms == tonumber(grace_ms) and grace_ms or string.format('%.0f', ms)
    end
    return life
end
