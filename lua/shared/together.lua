-- One answer to a request for several keys; knows no key.
-- SPDX-License-Identifier: MIT

-- The answer so far, and that for the next key: the first error; 1 where each is 1; else 0 where
-- one is 0.
local function together(so_far, answer)
    if type(so_far) == 'table' or type(answer) ~= 'table' and (so_far == 0 or answer == 1) then
        return so_far
    end
    return answer
end
