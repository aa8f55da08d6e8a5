-- SPDX-License-Identifier: Apache-2.0
-- Sources of moves; see scheduler_svc/store/verbs/moves.py.

-- Returns the source node of a moving consumer if the source is a member of the group, else nil.
local function source_host_of(consumer, group_id)
  local source = source_of(consumer)
  return source and type(source.group) == 'table' and source.group.id == group_id and source.host or nil
end
