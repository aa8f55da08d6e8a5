-- SPDX-License-Identifier: Apache-2.0
-- Remove the oldest entries of an inbox: at most a number, and no more once their bytes exceed the maximum of one
-- entry.
-- KEYS    1 inbox (list)
-- ARGV    1 maximum number   2 maximum bytes of an entry   3 bytes to return of a larger one
-- Returns the entries; {beginning, size} for a larger one

local taken, bytes = {}, 0
while #taken < tonumber(ARGV[1]) and bytes <= tonumber(ARGV[2]) do
    local entry = redis.call('RPOP', KEYS[1])
    if not entry then
        break
    end
    if #entry > tonumber(ARGV[2]) then
        taken[#taken + 1] = { string.sub(entry, 1, tonumber(ARGV[3])), #entry }
    else
        taken[#taken + 1] = entry
        bytes = bytes + #entry
    end
end
return taken
