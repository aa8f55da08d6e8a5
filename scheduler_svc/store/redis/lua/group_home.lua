-- SPDX-License-Identifier: Apache-2.0
-- Returns the home of a server group; chooses a new home if the home is missing, expired or replaceable. See
-- verbs/pinning.py.
-- ARGV: log length, group, partition to choose, lifetime in ms, replaceable generation or ''
-- Returns: partition, generation
--@ args log_length group partition ttl_ms replaceable
--@ keys pins pins_at
--@ include _partition
local key = 'group:' .. A.group
local chosen, generation = string.match(redis.call('HGET', K.pins, key) or '', '^(%S+) (%d+%.%d+)$')
local begun, number = string.match(generation or '', '^0*(%d+)%.0*(%d+)$')
if generation == A.replaceable or tonumber(redis.call('ZSCORE', K.pins_at, key) or 0) <= now then
  chosen = nil
end
if not chosen or tonumber(begun) ~= epoch then
  chosen = chosen or A.partition
  generation = string.format('%016d.%016d', epoch, math.max(now, tonumber(number or 0) + 1))
  redis.call('HSET', K.pins, key, chosen .. ' ' .. generation)
end
redis.call('ZADD', K.pins_at, int(now + tonumber(A.ttl_ms)), key)
return { chosen, generation }
