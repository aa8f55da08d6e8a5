-- SPDX-License-Identifier: Apache-2.0
-- Returns the nodes of sources of moves whose claims name a server group.
-- ARGV: log length, group, then each consumer
-- Returns: per consumer: source node or ''
--@ args log_length group
--@ include _partition
--@ include _moves
local nodes = {}
for i = REST, #ARGV do
  nodes[#nodes + 1] = source_host_of(ARGV[i], A.group) or ''
end
flush(false)
return nodes
