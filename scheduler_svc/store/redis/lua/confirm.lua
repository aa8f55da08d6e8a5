-- SPDX-License-Identifier: Apache-2.0
-- Confirms claims of a service host, each independently.
-- ARGV: log length, service host, then per claim: consumer, attempt
-- Returns: per claim: answer, host or ''
--@ args log_length host
--@ include _partition
--@ include _caller
--@ include _find

local function confirm(consumer, attempt)
  local claim, answer = find_claim(consumer, attempt, A.host)
  if not claim then
    return answer or 'unknown', ''
  elseif not answer and claim.state == 'prepared' then
    if not is_open(claim.host) or has_unverified(claim.consumer) then
      -- the store may have forgotten that the claim ended, or a host reports an unverified claim of the consumer
      return 'closed', claim.host
    end
    confirm_claim(claim)
  end
  return answer or 'confirmed', claim.host
end

return answer_each(2, confirm)
