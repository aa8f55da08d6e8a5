-- SPDX-License-Identifier: Apache-2.0
-- Nodes that leave.
--@ keys eligible

local function drop_node(id)
  redis.call('HDEL', K.providers, id)
  redis.call('HDEL', K.capacity, id)
  if host_of(id) ~= id then -- another is its service host's too, which may have other nodes
    redis.call('HDEL', K.eligible, id)
  end
  redis.call('HDEL', K.changed, id)
  weigh(id, sums_of(id), true)
  forget_idle(id, sums_of(id))
end

-- Log that these nodes are gone, and drop them.
local function drop_nodes(ids)
  if #ids > 0 then
    append('gone', cjson.encode(ids))
  end
  for _, id in ipairs(ids) do
    drop_node(id)
  end
end
