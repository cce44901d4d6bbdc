-- What one script has read of some keys, and written to them since; knows no key and no rule.
-- SPDX-License-Identifier: MIT
local known = {}

-- The table of one key; empty at first.
local function about(key)
    known[key] = known[key] or {}
    return known[key]
end
