-- SPDX-License-Identifier: Apache-2.0
-- Lookup of the claim that a verb names.

-- Returns the live claim or nil, and a final answer or nil. nil, nil: the claim is unknown.
local function find_claim(consumer, attempt, host)
  live_claim(redis.call('HGET', K.claims, consumer))
  local claim = claim_of(consumer, attempt)
  if claim then
    return claim, (host ~= '' and host_of(claim.host) ~= host) and 'foreign' or nil
  end
  return nil, end_of_attempt(consumer, attempt)
end
