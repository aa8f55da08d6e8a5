-- SPDX-License-Identifier: Apache-2.0
-- Stores what consumers hold in another Placement, all of them or none, as verbs/importing.py does.
-- ARGV: log length, the request id that marks imported claims, 1 to replace others too, the largest generation, then
--       seven for each consumer: see _allocating; instead of the expected generation that of the claim
-- Returns: as allocate
--@ args log_length import_request overwrite generation
--@ include _partition
--@ include _allocating
--@ include _reach
expire()
read_changes(REST)

local function import_refusal()
  for _, change in ipairs(changes) do
    if has_unverified(change.consumer) or is_of_agent(change.live) then
      return { 'owner', change.consumer, '', '', '' }
    elseif change.live and A.overwrite ~= '1' and change.live.request_id ~= A.import_request then
      return { 'consumer', change.consumer, '', '', int(change.generation) }
    end
  end
  return unknown_provider()
end

-- Returns whether a client's claim holds from the same providers, so that the indexes have it already.
local function has_same_places(live, allocations)
  return live.host == '@api' and live.state == 'confirmed'
    and table.concat(sorted_keys(live.allocations), ' ') == table.concat(sorted_keys(allocations), ' ')
end

-- Writes the claim `text` in place of a live one that is indexed under the same places.
local function rewrite_claim(live, claim, text)
  redis.call('HSET', K.claims, claim.consumer, text)
  for _, sign in ipairs({ -1, 1 }) do
    local counted = sign < 0 and live or claim
    count(counted, sign)
    tally(counted, sign)
  end
end

local refused = import_refusal()
if refused then
  flush(false)
  return refused
end
reach(tonumber(A.generation))
for _, change in ipairs(changes) do
  local live = change.live
  if live and change.text ~= '' and has_same_places(live, change.allocations) then
    rewrite_claim(live, api_claim(change, change.expected, change.members))
  else
    if live then
      drop_claim(live)
    end
    if change.text ~= '' then
      add_api_claim(change, change.expected, change.members)
    end
  end
end
claimed_providers = {} -- their generations are imported too
flush(true)
return {}
