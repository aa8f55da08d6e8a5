-- SPDX-License-Identifier: Apache-2.0
-- End prepared claims, each by itself. A confirmed one stays.
-- ARGV: log length, service host that must hold them or '', then for each claim: consumer, attempt
-- Returns: for each claim: answer, host or ''
--@ keys awaited
--@ include _partition
--@ include _find
local host, answers = ARGV[2], {}

local function may_be_forgotten()
  if host == '' then
    return redis.call('SCARD', K.awaited) > 0
  end
  return redis.call('SISMEMBER', K.awaited, host) == 1
end

for i = 3, #ARGV, 2 do
  local claim, answer = find(ARGV[i], ARGV[i + 1], host)
  if answer == nil and claim == nil then
    if may_be_forgotten() then
      answer = 'closed'
    else
      bury(ARGV[i], ARGV[i + 1], UNKNOWN_END)
      answer = 'unknown'
    end
  elseif answer == nil then
    if claim.state == 'confirmed' then
      answer = 'confirmed'
    elseif not is_open(claim.host) then
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
