-- SPDX-License-Identifier: Apache-2.0
-- Looks up claims, each independently: the state, the end, or why neither is known.
-- ARGV: log length, then per claim: consumer, attempt
-- Returns: per claim: answer, host or '', migration or '', the attempt's own answer if a later attempt is live, or ''
--@ args log_length
--@ include _partition
--@ include _find
--@ include _forgotten

local function find(consumer, attempt)
  local claim, answer, own = find_claim(consumer, attempt, '')
  if claim then
    return claim.state, claim.host, move_of(claim) or '', ''
  end
  answer = answer or unknown_answer(consumer)
  local later = own
  if not own or own.attempt < tonumber(attempt) then
    later = source_of(consumer)
  end
  if later and later.attempt > tonumber(attempt) then
    return 'conflict', later.host, '', answer
  end
  return answer, '', '', ''
end

return answer_each(2, find)
