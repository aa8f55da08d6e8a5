-- SPDX-License-Identifier: Apache-2.0
-- Confirms claims of a service host, each independently.
-- ARGV: log length, service host, then for each claim: consumer, attempt
-- Returns: for each claim: answer, host or ''
--@ args log_length host
--@ include _partition
--@ include _caller
--@ include _find
local host, answers = A.host, {}
for i = REST, #ARGV, 2 do
  local claim, answer = find_claim(ARGV[i], ARGV[i + 1], host)
  if not claim then
    answer = answer or 'unknown'
  elseif not answer then
    answer = 'confirmed'
    if claim.state == 'prepared' then
      if is_open(claim.host) and not has_unverified(claim.consumer) then
        confirm_claim(claim)
      else
        -- the store may have forgotten its end, and the next attempt elsewhere; or another host reports a copy
        answer = 'closed'
      end
    end
  end
  answers[#answers + 1] = answer
  answers[#answers + 1] = claim and claim.host or ''
end
flush(false)
return answers
