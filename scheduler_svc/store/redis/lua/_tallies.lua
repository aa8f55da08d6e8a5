-- SPDX-License-Identifier: Apache-2.0
-- Tallies: sums by project, user, consumer type and resource class ('' counts consumers), without unverified claims.
-- write_tallies() writes all changes at once.
--@ keys tallies tallied
local tally_changes = {}
local tally_owner, tally_head = {}, nil -- owner of the last claim, and the prefix of its fields

local function add_to_tally(field, amount)
  tally_changes[field] = (tally_changes[field] or 0) + amount
end

-- Adds a claim to the tallies (sign 1), or subtracts it (-1).
local function tally(claim, sign)
  if claim.state == 'unverified' then
    return
  end
  local owner = tally_owner
  if owner.project ~= claim.project or owner.user ~= claim.user or owner.type ~= claim.type then
    tally_owner = { project = claim.project, user = claim.user, type = claim.type }
    tally_head = cjson.encode(claim.project) .. ',' .. cjson.encode(claim.user) .. ',' .. cjson.encode(claim.type) .. ','
  end
  add_to_tally(tally_head .. '""', sign)
  for _, amounts in pairs(claim.allocations) do
    for class, amount in pairs(amounts) do
      add_to_tally(tally_head .. '"' .. class .. '"', sign * amount)
    end
  end
end

-- Writes the changed tallies. Sums of 0 have neither field nor index entry.
local function write_tallies()
  for field, change in pairs(tally_changes) do
    if change ~= 0 then
      local text = string.format('%d', change)
      local sum = redis.call('HINCRBY', K.tallies, field, text)
      if sum == 0 then
        redis.call('HDEL', K.tallies, field)
        redis.call('ZREM', K.tallied, field)
      elseif sum == change then
        redis.call('ZADD', K.tallied, '0', field)
      end
    end
  end
  tally_changes = {}
end
