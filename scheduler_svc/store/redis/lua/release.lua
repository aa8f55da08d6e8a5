-- SPDX-License-Identifier: Apache-2.0
-- Releases claims of a service host, each independently.
-- ARGV: log length, service host, then for each claim: consumer, attempt
-- Returns: for each claim: answer, host or ''
--@ args log_length host
--@ include _partition
--@ include _caller
--@ include _find
local host, answers = A.host, {}
for i = REST, #ARGV, 2 do
  local claim, answer = find_claim(ARGV[i], ARGV[i + 1], host)
  local unverified = has_unverified(ARGV[i])
    and redis.call('HGET', K.claims, unverified_name(ARGV[i], ARGV[i + 1], host))
  if unverified then
    end_claim(cjson.decode(unverified))
  end
  if answer == UNKNOWN_END then
    answer = 'released'
  elseif answer == nil then
    answer = 'released'
    if claim then
      end_claim(claim, 'released')
    elseif not unverified then
      add_tombstone(ARGV[i], ARGV[i + 1], 'released')
    end
  end
  answers[#answers + 1] = answer
  answers[#answers + 1] = claim and claim.host or ''
end
flush(false)
return answers
