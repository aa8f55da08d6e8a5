-- SPDX-License-Identifier: Apache-2.0
-- Makes unverified claims of a service host claims of their consumers: the conductor's records name these attempts.
-- ARGV: log length, service host, then for each claim: consumer, attempt
-- Returns: for each claim: answer, host or ''
--@ args log_length host
--@ include _partition
--@ include _find
--@ include _credible
--@ include _moves
--@ include _ends_of_move
local host, answers = A.host, {}

local function vouch(consumer, attempt)
  local raw = redis.call('HGET', K.claims, unverified_name(consumer, attempt, host))
  local claim, answer, live = find_claim(consumer, attempt, host)
  if claim or answer or not raw then
    return claim, answer or (claim and claim.state) or 'unknown'
  end
  claim = cjson.decode(raw)
  local vouched = cjson.decode(raw)
  vouched.consumer, vouched.state = consumer, 'confirmed'
  vouched.role = vouched.type == 'MIGRATION' and 'source' or 'destination'
  give_role(vouched, nil)
  local others = other_claims(live, vouched)
  local contradicted_by = contradiction(others, attempt)
  if contradicted_by then
    return contradicted_by, 'conflict'
  elseif vouched.instance and redis.call('HEXISTS', K.claims, vouched.consumer) == 1 or not is_credible(claim, live) then
    return claim, 'conflict'
  end
  end_claim(claim)
  make_room(live, others, vouched)
  add_claim(vouched, cjson.encode(vouched))
  return vouched, 'confirmed'
end

for i = REST, #ARGV, 2 do
  local claim, answer = vouch(ARGV[i], ARGV[i + 1])
  answers[#answers + 1] = answer
  answers[#answers + 1] = claim and claim.host or ''
end
flush(true)
return answers
