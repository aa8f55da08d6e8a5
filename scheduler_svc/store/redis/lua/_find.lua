-- SPDX-License-Identifier: Apache-2.0
-- Lookup of the claim that a verb names.
--@ include _moved

-- Returns the live claim or nil, and a final answer or nil. nil, nil: the claim is unknown.
local function find_claim(consumer, attempt, host)
  local claim = live_claim(redis.call('HGET', K.claims, consumer))
  if claim and claim.attempt == tonumber(attempt) then
    return claim, (host ~= '' and host_of(claim.host) ~= host) and 'foreign' or nil
  end
  return nil, resolve_end(end_of_attempt(consumer, attempt))
end
