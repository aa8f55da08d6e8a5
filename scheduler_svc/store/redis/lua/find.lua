-- SPDX-License-Identifier: Apache-2.0
-- Looks up claims, each independently: its state, how it ended, or why that is not known.
-- ARGV: log length, then for each claim: consumer, attempt
-- Returns: for each claim: answer, host or '', migration of the live claim or '', end of the attempt if a later attempt
--          is live or ''
--@ args log_length
--@ include _partition
--@ include _find
--@ include _forgotten
local answers = {}
for i = REST, #ARGV, 2 do
  local claim, answer, live = find_claim(ARGV[i], ARGV[i + 1], '')
  local migration, ended = claim and move_of(claim) or '', ''
  if claim then
    answer = claim.state
  elseif live and live.attempt > tonumber(ARGV[i + 1]) then
    claim, answer, ended = live, 'conflict', answer or ''
  elseif not answer then
    answer = unknown_answer(ARGV[i])
  end
  answers[#answers + 1] = answer
  answers[#answers + 1] = claim and claim.host or ''
  answers[#answers + 1] = migration
  answers[#answers + 1] = ended
end
flush(false)
return answers
