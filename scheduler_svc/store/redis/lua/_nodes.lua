-- SPDX-License-Identifier: Apache-2.0
-- Removal of nodes.
--@ keys eligible

local function drop_node(id)
  redis.call('HDEL', K.providers, id)
  redis.call('HDEL', K.capacity, id)
  if host_of(id) ~= id then -- a bare name is also its service host's
    redis.call('HDEL', K.eligible, id)
  end
  redis.call('HDEL', K.changed, id)
  redis.call('HDEL', K.generations, id)
  update_excess(id, sums_of(id), true)
  drop_idle_sums(id, sums_of(id))
end

local function drop_nodes(ids)
  if #ids > 0 then
    append('gone', cjson.encode(ids))
  end
  for _, id in ipairs(ids) do
    drop_node(id)
  end
end
