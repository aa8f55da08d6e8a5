-- SPDX-License-Identifier: Apache-2.0
-- Removes deleted instances and ended migrations after their retention, and requests with their last instance.
-- ARGV: limit
-- Returns: number of removed instances and migrations
--@ args limit
--@ include _usage
--@ keys requests instances everything left counts purge leases woken
--@ keys migrations listed_migrations ended_migrations own_amounts

local uuids = redis.call('ZRANGEBYSCORE', K.purge, '-inf', whole(now), 'LIMIT', 0, A.limit)
for _, uuid in ipairs(uuids) do
  local head = unpack_header(redis.call('HGET', K.instances, uuid))
  redis.call('HDEL', K.instances, uuid)
  count_instances(head.request, 0, -1)
  redis.call('HDEL', K.own_amounts, uuid)
  redis.call('ZREM', K.everything, uuid)
  redis.call('HINCRBY', K.counts, head.status, -1)
  redis.call('ZREM', K.purge, uuid)
  if redis.call('HINCRBY', K.left, head.request, -1) <= 0 then
    redis.call('HDEL', K.left, head.request)
    redis.call('HDEL', K.requests, head.request)
    redis.call('HDEL', K.amounts, head.request)
    redis.call('HDEL', K.leases, head.request)
    redis.call('SREM', K.woken, head.request)
    set_due(head.request)
  end
end
local migrations = redis.call('ZRANGEBYSCORE', K.ended_migrations, '-inf', whole(now), 'LIMIT', 0, A.limit)
for _, uuid in ipairs(migrations) do
  redis.call('HDEL', K.migrations, uuid)
  redis.call('ZREM', K.listed_migrations, uuid)
  redis.call('ZREM', K.ended_migrations, uuid)
end
return #uuids + #migrations
