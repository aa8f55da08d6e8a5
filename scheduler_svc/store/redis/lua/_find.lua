-- SPDX-License-Identifier: Apache-2.0
-- Lookup of a claim by its identity.

-- Returns the live claim or nil, a final answer or nil, and the consumer's own claim or nil; nil, nil if unknown.
local function find_claim(consumer, attempt, host)
  local own = live_claim(redis.call('HGET', K.claims, consumer))
  local claim = claim_of(own, consumer, attempt)
  if claim then
    return claim, (host ~= '' and host_of(claim.host) ~= host) and 'foreign' or nil, own
  end
  return nil, end_of(ends_of(consumer), attempt), own
end

-- Calls `decide` for the claim in each row of `width` arguments, writes all changes, and returns the results.
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
