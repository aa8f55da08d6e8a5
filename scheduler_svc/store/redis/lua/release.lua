-- SPDX-License-Identifier: Apache-2.0
-- Releases claims of a service host, each independently.
-- ARGV: log length, service host, then per claim: consumer, attempt
-- Returns: per claim: answer, host or ''
--@ args log_length host
--@ include _partition
--@ include _caller
--@ include _find

local function release(consumer, attempt)
  local claim, answer = find_claim(consumer, attempt, A.host)
  local unverified = has_unverified(consumer)
    and redis.call('HGET', K.claims, unverified_name(consumer, attempt, A.host))
  if unverified then
    end_claim(cjson.decode(unverified))
  end
  if not answer and claim then
    end_claim(claim, 'released')
  elseif not answer and not unverified then
    add_tombstone(consumer, attempt, 'released', 0)
  end
  return answer ~= UNKNOWN_END and answer or 'released', claim and claim.host or ''
end

return answer_each(2, release)
