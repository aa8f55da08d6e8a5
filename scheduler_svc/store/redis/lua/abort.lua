-- SPDX-License-Identifier: Apache-2.0
-- Aborts prepared claims, each independently. Confirmed claims do not end.
-- ARGV: log length, required service host or '', then per claim: consumer, attempt, the only service host that may have
--       received a build ('': no host, '*': any host)
-- Returns: per claim: answer, host or ''
--@ args log_length host
--@ include _partition
--@ include _caller
--@ include _find
--@ include _forgotten

local function abort(consumer, attempt, destination)
  local claim, answer = find_claim(consumer, attempt, A.host)
  if answer then
    return answer, claim and claim.host or ''
  elseif not claim then
    if may_be_forgotten(destination) then
      return 'closed', ''
    end
    add_tombstone(consumer, attempt, UNKNOWN_END, 0)
    return 'unknown', ''
  elseif claim.state == 'confirmed' then
    return 'confirmed', claim.host
  elseif not is_open(claim.host) and (destination == '*' or destination == host_of(claim.host)) then
    return 'closed', claim.host
  end
  end_claim(claim, 'aborted')
  return 'aborted', claim.host
end

return answer_each(3, abort)
