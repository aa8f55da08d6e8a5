-- SPDX-License-Identifier: Apache-2.0
-- Ring again for bodies whose bell was lost with a connection. A bell too many finds an empty queue.
-- KEYS    1 the queue: its bells (list)   2 its bodies (list)
-- ARGV    1 seconds a queue is kept
-- Returns how many bells were missing

local missing = redis.call('LLEN', KEYS[2]) - redis.call('LLEN', KEYS[1])
for _ = 1, math.min(missing, 1000) do
    redis.call('LPUSH', KEYS[1], '0')
end
if missing > 0 then
    redis.call('EXPIRE', KEYS[1], tonumber(ARGV[1]))
end
return missing
