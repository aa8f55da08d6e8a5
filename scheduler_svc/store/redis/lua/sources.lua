-- SPDX-License-Identifier: Apache-2.0
-- Returns the nodes on which migrations hold the sources of consumers that move, as members of a server group.
-- ARGV: log length, group, then each consumer
-- Returns: for each consumer: the node of its source or ''
--@ args log_length group
--@ include _partition
--@ include _moves
local nodes = {}
for i = REST, #ARGV do
  nodes[#nodes + 1] = source_host_of(ARGV[i], A.group) or ''
end
flush(false)
return nodes
