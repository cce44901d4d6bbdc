-- Fences, included after shared/clock.lua where `stored` and `allowance` are known; knows no owner.
-- SPDX-License-Identifier: MIT

-- What a proposed fence has to be above, and whether the node's own is missing: that counts as a
-- time near now, since to write an older one would lower it. Nil where it is none of ours.
local function fence_to_exceed(name)
    local text = stored[name]
    if not text then
        return node_us() - allowance, true
    end
    local seen = string.find(text, '^%d+$') and tonumber(text)
    return seen and seen < 9007199254740992 and seen or nil
end
