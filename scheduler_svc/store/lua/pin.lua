-- SPDX-License-Identifier: Apache-2.0
-- Who serves a key: whoever was recorded first, as long as it is asked for.
-- ARGV: log length, key, partition that would serve it, lifetime in ms, partition that may be replaced or ''
-- Returns: the partition that serves it
--@ keys pins pins_at
--@ include _partition
local key, wanted, ttl = ARGV[2], ARGV[3], tonumber(ARGV[4])
local held = redis.call('HGET', K.pins, key)
local past = tonumber(redis.call('ZSCORE', K.pins_at, key) or 0) <= now
if not held or past or held == ARGV[5] then
  held = wanted
  redis.call('HSET', K.pins, key, held)
end
redis.call('ZADD', K.pins_at, int(now + ttl), key)
return held
