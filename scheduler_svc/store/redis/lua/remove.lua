-- SPDX-License-Identifier: Apache-2.0
-- Removes a service host without claims.
-- ARGV: log length, service host
-- Returns: 0 if removed; else nothing was done: number of live claims on it; -1: it may run claims that the store
--          forgot; -2: claims on other hosts hold what it shares
--@ args log_length host
--@ keys awaited reports nodes services beats alive clock_offsets
--@ include _partition
--@ include _nodes
local EXPIRE_BATCH = 1000 -- claims past their deadline that are ended first, at most
local host = A.host
if redis.call('SISMEMBER', K.awaited, host) == 1 then
  return -1
end

expire(EXPIRE_BATCH)
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
end
drop_nodes(nodes)
redis.call('HDEL', K.reports, host)
redis.call('HDEL', K.nodes, host)
redis.call('HDEL', K.opened, host)
redis.call('HDEL', K.eligible, host)
redis.call('HDEL', K.alive, host)
redis.call('HDEL', K.clock_offsets, host)
redis.call('ZREM', K.beats, host)
if redis.call('HDEL', K.services, host) == 1 then
  append('service', '{' .. quote(host) .. ':null}')
end
return 0
