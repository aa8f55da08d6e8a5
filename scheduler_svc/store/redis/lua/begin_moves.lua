-- SPDX-License-Identifier: Apache-2.0
-- Makes confirmed claims the sources of migrations, each independently; no sum changes.
-- ARGV: log length, then for each claim: consumer, attempt, migration
-- Returns: for each claim: answer, host or '', migration of the claim or ''
--@ args log_length
--@ include _partition
--@ include _find
--@ include _forgotten
--@ include _moves

local function begin(consumer, attempt, migration)
  local claim, answer = find_claim(consumer, attempt, '')
  if not claim then
    return answer or unknown_answer(consumer)
  elseif is_of_api(claim) then
    return 'foreign', claim
  elseif claim.state ~= 'confirmed' then
    return claim.state, claim
  elseif claim.instance and claim.consumer == migration then
    return 'confirmed', claim
  elseif has_ended(migration) then
    return 'ended', claim
  elseif redis.call('HEXISTS', claim.instance and K.claims or K.sources, consumer) == 1
    or redis.call('HEXISTS', K.claims, migration) == 1 then
    return 'conflict', claim
  end
  return 'confirmed', make_source(claim, migration)
end

local answers = {}
for i = REST, #ARGV, 3 do
  local answer, claim = begin(ARGV[i], ARGV[i + 1], ARGV[i + 2])
  answers[#answers + 1] = answer
  answers[#answers + 1] = claim and claim.host or ''
  answers[#answers + 1] = claim and move_of(claim) or ''
end
flush(false)
return answers
