-- SPDX-License-Identifier: Apache-2.0
-- Receive: take the oldest body of a queue and record it as received, in one step, so that no death of its
-- receiver can lose it. A body begins with its delivery tag.
-- KEYS    1 bodies of the queue (list)   2 received (hash)   3 received, by time (zset)
-- ARGV    1 length of a tag   2 now, epoch seconds   3 the queue
-- Returns the body, or false when the queue is empty

local body = redis.call('RPOP', KEYS[1])
if not body then
    return false
end
local tag = string.sub(body, 1, tonumber(ARGV[1]))
redis.call('HSET', KEYS[2], tag, ARGV[3] .. '\n' .. body)
redis.call('ZADD', KEYS[3], ARGV[2], tag)
return body
