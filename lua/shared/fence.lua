-- Fences, included after shared/clock.lua where `allowance` and `lift` are known; knows no owner.
-- SPDX-License-Identifier: MIT

-- What a proposed fence has to be above where the node's own, of that name, is this text; and
-- whether it is missing (false): that counts as a time near now, since to write an older one would
-- lower it.
-- Nil, false and an error where the text is none of ours.
local function fence_bound(name, text)
    if not text then
        return node_us() + lift - allowance, true
    end
    local seen = string.find(text, '^%d+$') and tonumber(text)
    if seen and seen < 9007199254740992 then
        return seen, false
    end
    return nil, false, redis.error_reply('FOREIGN ' .. name .. ' does not hold a fence')
end
