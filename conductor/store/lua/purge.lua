-- SPDX-License-Identifier: Apache-2.0
-- Remove deleted instances whose retention has passed, and a request with the last of its instances.
-- KEYS: requests, instances, everything, left, counts, purge, due
-- ARGV: limit
-- Returns: number of removed instances
--@ include _header

local uuids = redis.call('ZRANGEBYSCORE', KEYS[6], '-inf', whole(clock()), 'LIMIT', 0, ARGV[1])
for _, uuid in ipairs(uuids) do
  local head = unpack_header(redis.call('HGET', KEYS[2], uuid))
  redis.call('HDEL', KEYS[2], uuid)
  redis.call('ZREM', KEYS[3], uuid)
  redis.call('HINCRBY', KEYS[5], head.status, -1)
  redis.call('ZREM', KEYS[6], uuid)
  if redis.call('HINCRBY', KEYS[4], head.request, -1) <= 0 then
    redis.call('HDEL', KEYS[4], head.request)
    redis.call('HDEL', KEYS[1], head.request)
    redis.call('ZREM', KEYS[7], head.request)
  end
end
return #uuids
