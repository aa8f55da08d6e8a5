-- SPDX-License-Identifier: Apache-2.0
-- Returns the nodes on which migrations hold the sources of consumers that move, as members of a server group.
-- ARGV: log length, group, then each consumer
-- Returns: for each consumer: the node of its source or ''
--@ args log_length group
--@ include _partition
--@ include _moved
local nodes = {}
for i, raw in ipairs(redis.call('HMGET', K.ended, unpack(ARGV, REST))) do
  nodes[i] = raw and source_host_of(ARGV[REST + i - 1], cjson.decode(raw), A.group) or ''
end
flush(false)
return nodes
