-- SPDX-License-Identifier: Apache-2.0
-- Removes a service host without claims.
-- ARGV: log length, service host, 1 if it is lost else 0: then it is also fenced if it is awaited
-- Returns: 0 if removed; else nothing was done: number of live claims on it; -1: it may run claims that the store
--          forgot; -4: providers of the Placement API are below its nodes; -2: claims on other hosts hold what it shares; -3: it may run such claims, and is up
--@ args log_length host lost
--@ keys awaited reports nodes services beats alive clock_offsets api_changed
--@ include _partition
--@ include _nodes
--@ include _children
local host = A.host
local is_awaited = redis.call('SISMEMBER', K.awaited, host) == 1
if is_awaited and A.lost == '0' then
  return -1
elseif is_awaited and redis.call('HGET', K.alive, host) == '1' then
  return -3
end

expire()
flush(false)
local claims = 0
for _, after in ipairs({ '/', '|' }) do
  local head = host .. after
  claims = claims + redis.call('ZLEXCOUNT', K.by_host, '[' .. head, '(' .. head .. '\255')
end
if claims > 0 then
  return claims
end

local nodes = cjson.decode(redis.call('HGET', K.nodes, host) or '[]')
for _, node in ipairs(nodes) do
  for _, amount in pairs(sums_of(node)) do
    if amount > 0 then
      return -2
    end
  end
  if count_children(node) > 0 then
    return -4
  end
end
drop_nodes(nodes)
redis.call('HDEL', K.reports, host)
redis.call('HDEL', K.nodes, host)
if is_awaited then
  if tonumber(redis.call('HGET', K.opened, host) or 0) >= 0 then
    append('opened', '{' .. quote(host) .. ':0}')
  end
  redis.call('HSET', K.opened, host, int(-epoch))
  redis.call('SREM', K.awaited, host)
else
  redis.call('HDEL', K.opened, host)
end
redis.call('HDEL', K.eligible, host)
redis.call('HDEL', K.alive, host)
redis.call('HDEL', K.clock_offsets, host)
redis.call('HDEL', K.api_changed, host)
redis.call('ZREM', K.beats, host)
if redis.call('HDEL', K.services, host) == 1 then
  append('service', '{' .. quote(host) .. ':null}')
end
return 0
