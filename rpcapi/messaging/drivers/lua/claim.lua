-- SPDX-License-Identifier: Apache-2.0
-- Receive a message: move the oldest body of a queue to the received messages, atomically, so that a dying receiver
-- loses nothing. A body begins with its delivery tag.
-- KEYS    1 bodies of the queue (list)   2 received (hash)   3 received, by time (zset)
-- ARGV    1 length of a tag   2 now, epoch seconds   3 the queue   4 maximum bytes of a body
--         5 bytes to return of a larger body, which is removed
-- Returns the body, or {its beginning, its size} of a larger one, or false if the queue is empty

local body = redis.call('RPOP', KEYS[1])
if not body then
    return false
end
if #body > tonumber(ARGV[4]) then
    return { string.sub(body, 1, tonumber(ARGV[5])), #body }
end
local tag = string.sub(body, 1, tonumber(ARGV[1]))
redis.call('HSET', KEYS[2], tag, ARGV[3] .. '\n' .. body)
redis.call('ZADD', KEYS[3], ARGV[2], tag)
return body
