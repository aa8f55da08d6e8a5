-- SPDX-License-Identifier: Apache-2.0
-- Returns the partition that serves a key: the first one recorded, until the pin expires; each call renews it.
-- ARGV: log length, key, partition to pin it to, lifetime in ms, partition that may be replaced or ''
-- Returns: the partition that serves it
--@ args log_length key partition ttl_ms replaceable
--@ keys pins pins_at
--@ include _partition
local key, requested, ttl = A.key, A.partition, tonumber(A.ttl_ms)
local pinned = redis.call('HGET', K.pins, key)
local is_expired = tonumber(redis.call('ZSCORE', K.pins_at, key) or 0) <= now
if not pinned or is_expired or pinned == A.replaceable then
  pinned = requested
  redis.call('HSET', K.pins, key, pinned)
end
redis.call('ZADD', K.pins_at, int(now + ttl), key)
return pinned
