-- SPDX-License-Identifier: Apache-2.0
-- Aborts prepared claims, each independently. Confirmed claims are not ended.
-- ARGV: log length, service host that the claims must be on or '', then for each claim: consumer, attempt, the only
--       service host that may have got a build of the consumer, '' if none has, '*' if any may have
-- Returns: for each claim: answer, host or ''
--@ args log_length host
--@ include _partition
--@ include _caller
--@ include _find
--@ include _forgotten
local host, answers = A.host, {}

for i = REST, #ARGV, 3 do
  local destination = ARGV[i + 2]
  local claim, answer = find_claim(ARGV[i], ARGV[i + 1], host)
  if answer == nil and claim == nil then
    if may_be_forgotten(destination) then
      answer = 'closed'
    else
      add_tombstone(ARGV[i], ARGV[i + 1], UNKNOWN_END)
      answer = 'unknown'
    end
  elseif answer == nil then
    if claim.state == 'confirmed' then
      answer = 'confirmed'
    elseif not is_open(claim.host) and (destination == '*' or destination == host_of(claim.host)) then
      answer = 'closed'
    else
      end_claim(claim, 'aborted')
      answer = 'aborted'
    end
  end
  answers[#answers + 1] = answer
  answers[#answers + 1] = claim and claim.host or ''
end
flush(false)
return answers
