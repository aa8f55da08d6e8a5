-- SPDX-License-Identifier: Apache-2.0
-- Which claim a verb means.

-- Returns the live claim, or nil; and the answer that ends the matter, or nil. Neither: it never was.
local function find(consumer, attempt, host)
  local claim = settle(redis.call('HGET', K.claims, consumer))
  if claim and claim.attempt == tonumber(attempt) then
    return claim, (host ~= '' and host_of(claim.host) ~= host) and 'foreign' or nil
  end
  return nil, end_of(ends_of(consumer), attempt)
end
