-- SPDX-License-Identifier: Apache-2.0
-- Looks up claims, each independently: its state, how it ended, or why that is not known.
-- ARGV: log length, then for each claim: consumer, attempt
-- Returns: for each claim: answer, host or '', migration of the live claim or '', if a later attempt is live the answer
--          without it, or ''
--@ args log_length
--@ include _partition
--@ include _find
--@ include _forgotten

local function find(consumer, attempt)
  local claim, answer, live = find_claim(consumer, attempt, '')
  if claim then
    return claim.state, claim.host, move_of(claim) or '', ''
  end
  answer = answer or unknown_answer(consumer)
  if live and live.attempt > tonumber(attempt) then
    return 'conflict', live.host, '', answer
  end
  return answer, '', '', ''
end

return answer_each(2, find)
