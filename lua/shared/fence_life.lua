-- For how long a node keeps a fence; included after shared/clock.lua where `lift` is known.
-- SPDX-License-Identifier: MIT

-- In ms, as text: until this node's time, lifted, is ahead of the fence by the most that any
-- program's `allowance` is, 15 s. From then on a node without the fence refuses all that it would
-- refuse with it: shared/fence.lua. Whatever `allowance` is now: a later program may have a larger
-- one. At least for as long after it is written, and for `least_ms`. In steps of a second, so that
-- the requests of a command have it in common: to make a text takes long.
local grace_ms = 15000
local usual_ms, usual = 16000, '16000'  -- of a fence that is at most a second ahead
local life_ms, least_before, life
local function life_of(fence, least_ms)
    local ahead_us, ms = fence - node_us() - lift, usual_ms
    if ahead_us > 1000000 then
        ms = grace_ms + 1000 * math.ceil(ahead_us / 1000000)
    end
    if ms ~= life_ms or least_ms ~= least_before then
        life_ms, least_before = ms, least_ms
        local least = tonumber(least_ms)
        if ms == usual_ms and ms >= least then
            life = usual
        else
            life = string.format('%.0f', math.max(ms, least))
        end
    end
    return life
end
