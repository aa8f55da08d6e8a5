-- SPDX-License-Identifier: Apache-2.0
-- Makes the sources of migrations the only claims of their instances again, each independently; ends the migrations.
-- ARGV: log length, then for each claim: consumer, attempt, migration
-- Returns: for each claim: answer, host of the claim (for a conflict of the destination) or '', migration of the claim
--          or ''
--@ args log_length
--@ include _partition
--@ include _find
--@ include _forgotten
--@ include _moves

local function finish(consumer, attempt, migration)
  local claim, answer, own = find_claim(consumer, attempt, '')
  if not claim then
    return answer or unknown_answer(consumer), '', ''
  end
  local is_source = claim.instance and claim.consumer == migration
  if is_source and own then
    return 'conflict', own.host, migration
  elseif may_run(consumer) then
    return 'closed', claim.host, migration
  elseif is_source then
    drop_claim(claim)
    claim.consumer, claim.type, claim.instance, claim.generation = consumer, 'INSTANCE', nil, 1
    add_claim(claim, cjson.encode(claim))
  end
  add_tombstone(migration, MIGRATION_ATTEMPT, 'released')
  return claim.state, claim.host, move_of(claim) or ''
end

local answers = {}
for i = REST, #ARGV, 3 do
  local answer, host, migration = finish(ARGV[i], ARGV[i + 1], ARGV[i + 2])
  answers[#answers + 1], answers[#answers + 2], answers[#answers + 3] = answer, host, migration
end
flush(false)
return answers
