-- SPDX-License-Identifier: Apache-2.0
-- Forget a service host that holds nothing.
-- ARGV: log length, service host
-- Returns: how many live claims it holds: nothing was done unless 0; -1: it may run claims that were forgotten;
--          -2: claims on other hosts hold what it shares
--@ keys awaited reports nodes services beats alive
--@ include _partition
--@ include _nodes
local LOT = 1000 -- claims past their deadline that are ended on the way, at most
local host = ARGV[2]
if redis.call('SISMEMBER', K.awaited, host) == 1 then
  return -1
end

expire(LOT)
flush(false)
local held = 0
for _, after in ipairs({ '/', '|' }) do
  local head = host .. after
  held = held + redis.call('ZLEXCOUNT', K.by_host, '[' .. head, '(' .. head .. '\255')
end
if held > 0 then
  return held
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
redis.call('ZREM', K.beats, host)
if redis.call('HDEL', K.services, host) == 1 then
  append('service', '{' .. quote(host) .. ':null}')
end
return 0
