-- SPDX-License-Identifier: Apache-2.0
-- Claims that the Placement API owns. Included after _partition.

-- Returns the table of JSON members that each follow a comma.
local function decode_members(members)
  return cjson.decode('{' .. string.sub(members, 2) .. '}')
end

-- Returns the claim by which a consumer holds `item.allocations`, whose JSON is `item.text`, and its own JSON. `item.live`
-- is its former claim, or nil; `generation` is a text, `members` the claim's further JSON members.
local function api_claim(item, generation, members)
  local attempt = item.live and item.live.attempt or last_end(ends_of(item.consumer)) + 1
  local claim = decode_members(members)
  claim.consumer, claim.state, claim.host, claim.allocations = item.consumer, 'confirmed', '@api', item.allocations
  return claim,
    '{"schema":1,"consumer":' .. quote(item.consumer) .. ',"attempt":' .. int(attempt) .. ',"generation":' .. generation
    .. ',"state":"confirmed","host":"@api","allocations":' .. item.text .. ',"alternates":""' .. members .. '}'
end

-- Adds that claim; its former one is dropped already.
local function add_api_claim(item, generation, members)
  add_claim(api_claim(item, generation, members))
end
