-- SPDX-License-Identifier: Apache-2.0
-- Sources of moves; see scheduler_svc/store/verbs/moves.py.

-- Returns the node of the source of the consumer's move if its claim names the group, or nil.
local function source_host_of(consumer, group_id)
  local source = source_of(consumer)
  return source and type(source.group) == 'table' and source.group.id == group_id and source.host or nil
end
