-- SPDX-License-Identifier: Apache-2.0
-- Requeue received messages that were not renewed in time, or the one with a given tag: at the front of their
-- queues, with a bell each for topics; the readers of servers' queues look for messages without a bell. The queue keys
-- are read from the records and cannot be declared in KEYS, so the bus must be a single Redis server, not a cluster.
-- KEYS    1 received (hash)   2 received, by time (zset)
-- ARGV    1 latest renewal to requeue, epoch seconds, or '' with a tag   2 the tag, or ''   3 maximum number
--         4 TTL of a queue, seconds   5 suffix of the key of a queue's bodies   6 prefix of servers' queues
-- Returns the number of requeued messages

local tags = { ARGV[2] }
if ARGV[1] ~= '' then
    tags = redis.call('ZRANGEBYSCORE', KEYS[2], '-inf', ARGV[1], 'LIMIT', 0, tonumber(ARGV[3]))
end
local restored = 0
for _, tag in ipairs(tags) do
    local record = redis.call('HGET', KEYS[1], tag)
    redis.call('ZREM', KEYS[2], tag)
    redis.call('HDEL', KEYS[1], tag)
    if record then
        local ends = string.find(record, '\n', 1, true)
        local queue = string.sub(record, 1, ends - 1)
        local bodies = queue .. ARGV[5]
        redis.call('RPUSH', bodies, string.sub(record, ends + 1))
        redis.call('EXPIRE', bodies, tonumber(ARGV[4]))
        if string.find(queue, ARGV[6], 1, true) ~= 1 then
            redis.call('RPUSH', queue, '0')
            redis.call('EXPIRE', queue, tonumber(ARGV[4]))
        end
        restored = restored + 1
    end
end
return restored
