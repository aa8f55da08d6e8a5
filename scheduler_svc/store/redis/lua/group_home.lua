-- SPDX-License-Identifier: Apache-2.0
-- Returns the partition that serves a server group, and the generation of that choice; each call renews it. A choice
-- that expired, or whose generation may be replaced, is replaced. A choice of an earlier epoch gets a new generation:
-- the store may have forgotten a later choice.
-- ARGV: log length, group, partition to choose, lifetime in ms, generation that may be replaced or ''
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
