-- SPDX-License-Identifier: Apache-2.0
-- Returns the nodes of consumers' live claims, after expiring those past their deadline.
-- ARGV: log length, then each consumer
-- Returns: for each consumer: the node of its claim or ''
--@ args log_length
--@ include _partition
local hosts = {}
for i, raw in ipairs(redis.call('HMGET', K.claims, unpack(ARGV, REST))) do
  local claim = live_claim(raw)
  hosts[i] = claim and claim.host or ''
end
flush(false)
return hosts
