-- SPDX-License-Identifier: Apache-2.0
-- Lookup of claims by consumer and attempt.

-- Returns the attempt's live claim or nil; its end, 'foreign' if the claim is not on `host`, or nil; and the consumer's
-- own claim or nil. The first two are nil for an unknown attempt. An overdue claim on an open host ends first.
local function find_claim(consumer, attempt, host)
  local own = live_claim(redis.call('HGET', K.claims, consumer))
  local claim = claim_of(own, consumer, attempt)
  if claim then
    return claim, (host ~= '' and host_of(claim.host) ~= host) and 'foreign' or nil, own
  end
  return nil, end_of(ends_of(consumer), attempt), own
end

-- Calls `decide` for each claim, given as a row of `width` arguments; writes all changes and returns all results.
local function answer_each(width, decide)
  local answers = {}
  for i = REST, #ARGV, width do
    for _, value in ipairs({ decide(ARGV[i], ARGV[i + 1], ARGV[i + 2]) }) do
      answers[#answers + 1] = value
    end
  end
  flush(false)
  return answers
end
