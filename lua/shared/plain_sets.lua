-- Requests for several keys without fences at once; included in plain.lua.
-- SPDX-License-Identifier: MIT
-- include shared/together.lua
local function value_of(key)
    local known = stored[key]
    if known == nil then
        return redis.pcall('GET', key)
    end
    return known
end

local function acquire_all(first, m, value, ttl)
    local is_ours, taken = {}, {}
    for j = 0, m - 1 do
        local current = value_of(KEYS[first + j])
        if type(current) == 'table' then
            return current
        elseif current and current ~= value then
            return {2, 0, string.sub(current, 1, 400), 0, 0, '', j}
        end
        is_ours[j] = current
    end
    for j = 0, m - 1 do
        local key, answer = KEYS[first + j], nil
        if is_ours[j] then
            answer = prolong(key, ttl)
        else
            local done = redis.pcall('SET', key, value, 'PX', ttl)
            answer = done.err and done or 1
            stored[key] = nil
            taken[#taken + 1] = answer == 1 and key or nil
        end
        if answer ~= 1 then
            for _, name in ipairs(taken) do
                redis.pcall('DEL', name)
            end
            return answer
        end
    end
    return 1
end

-- The answer is 1 where that is the answer for each. A lease is prolonged only as a whole.
local function all_of(what, first, m, value, ttl)
    local all = 1
    for j = 0, what == 'extend' and m - 1 or -1 do
        local current = value_of(KEYS[first + j])
        if current ~= value then
            return type(current) == 'table' and current or current and 0 or -1
        end
    end
    for j = 0, m - 1 do
        local answer = give_back_or_prolong(what, KEYS[first + j], value, ttl)
        all = together(all, answer)
    end
    return all
end
