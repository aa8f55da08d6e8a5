-- SPDX-License-Identifier: Apache-2.0
-- Pins a key to a partition, or renews its valid pin.
-- ARGV: log length, key, partition to pin, lifetime in ms, replaceable partition or ''
-- Returns: pinned partition
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
