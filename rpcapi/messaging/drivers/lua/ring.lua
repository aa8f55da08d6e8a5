-- SPDX-License-Identifier: Apache-2.0
-- Replace bells that were lost with a connection. A surplus bell finds an empty queue and is ignored.
-- KEYS    1 bells of the queue (list)   2 bodies of the queue (list)
-- ARGV    1 TTL of the queue, seconds
-- Returns the number of missing bells (0 or negative if none)

local missing = redis.call('LLEN', KEYS[2]) - redis.call('LLEN', KEYS[1])
for _ = 1, math.min(missing, 1000) do
    redis.call('LPUSH', KEYS[1], '0')
end
if missing > 0 then
    redis.call('EXPIRE', KEYS[1], tonumber(ARGV[1]))
end
return missing
