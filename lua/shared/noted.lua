-- Requests of leases that have a note; included in general.lua.
-- SPDX-License-Identifier: MIT
-- include shared/notes.lua
local function note_beside(fence_key)
    return string.sub(fence_key, 1, -#'fence' - 1) .. 'note'
end

-- The key of a reader's note, and for how long the reader holds the lock.
local function note_of_reader(i, value)
    local until_ms = reader_rules.place_of(KEYS[next_companion], value)
    return note_beside(KEYS[2 * i + 1]) .. ':' .. value,
           type(until_ms) == 'number' and until_ms - math.floor(node_us() / 1000)
end

-- Does what `done` does, and writes the note that is the last word where the lease has the keys then,
-- or deletes it where it gives them back.
local function carry_note(done, suffix, gives_back, i, ...)
    local words = {...}
    local text = not gives_back and table.remove(words)
    local answer = done(i, unpack(words))
    local m, value, ttl = 1, words[1], words[2]
    if suffix == 'all' then
        m, value, ttl = tonumber(words[1]), words[2], words[3]
    end
    if gives_back and type(answer) == 'table' or not gives_back and answer ~= 1 then
        return answer
    elseif suffix == 'share' then
        local name, left_ms = note_of_reader(i, value)
        delete_note(note_beside(KEYS[2 * i + 1]), value)  -- of a writer that shares the key now
        if gives_back then
            redis.pcall('DEL', name)
        else
            write_note(name, value, text, left_ms or ttl)
        end
        return answer
    end
    for j = i, i + m - 1 do
        local name = note_beside(KEYS[2 * j + 1])
        if gives_back then
            delete_note(name, value)
        else
            write_note(name, value, text, life_of(KEYS[2 * j], ttl))
        end
    end
    return answer
end
