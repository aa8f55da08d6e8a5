-- SPDX-License-Identifier: Apache-2.0
-- Returns the nodes of live claims; for an API-owned claim, the first of its root providers. Overdue claims end first.
-- ARGV: log length, then each consumer
-- Returns: per consumer: node or ''
--@ args log_length
--@ include _partition
--@ include _members
--@ include _sorted
local function node_of(claim)
  if claim.host ~= '@api' then
    return claim.host
  end
  return sorted_keys(hosts_of_claim(claim))[1]
end

local hosts = {}
for i, raw in ipairs(redis.call('HMGET', K.claims, unpack(ARGV, REST))) do
  local claim = live_claim(raw)
  hosts[i] = claim and node_of(claim) or ''
end
flush(false)
return hosts
