-- SPDX-License-Identifier: Apache-2.0
-- Requeue the message with a given tag, or all messages that were not renewed in time, at the front of their queues.
-- Topic queues get a bell per message; readers of server queues look for messages without a bell. Queue keys come from
-- the records and cannot be declared in KEYS, so the bus must be a single Redis server, not a cluster.
-- A digit after the tag counts the redeliveries of lost messages; no digit means 0. At the maximum the message is
-- removed instead.
-- KEYS    1 received (hash)   2 received, by time (zset)
-- ARGV    1 latest renewal to requeue, epoch seconds, or '' with a tag   2 the tag, or ''   3 maximum number
--         4 TTL of a queue, seconds   5 suffix of the key of a queue's bodies   6 prefix of server queues
--         7 length of a tag   8 maximum redeliveries   9 bytes to return of a removed message
-- Returns {queue, beginning, size} of each removed message

local tags = { ARGV[2] }
local is_lost = ARGV[1] ~= ''
if is_lost then
    tags = redis.call('ZRANGEBYSCORE', KEYS[2], '-inf', ARGV[1], 'LIMIT', 0, tonumber(ARGV[3]))
end
local removed = {}
local head = tonumber(ARGV[7])
for _, tag in ipairs(tags) do
    local record = redis.call('HGET', KEYS[1], tag)
    redis.call('ZREM', KEYS[2], tag)
    redis.call('HDEL', KEYS[1], tag)
    if record then
        local ends = string.find(record, '\n', 1, true)
        local queue, body = string.sub(record, 1, ends - 1), string.sub(record, ends + 1)
        local count = tonumber(string.sub(body, head + 1, head + 1))
        if is_lost and (count or 0) >= tonumber(ARGV[8]) then
            removed[#removed + 1] = { queue, string.sub(body, head + 1, head + tonumber(ARGV[9])), #body }
        else
            if is_lost then
                body = string.sub(body, 1, head) .. (count or 0) + 1 .. string.sub(body, head + (count and 2 or 1))
            end
            local bodies = queue .. ARGV[5]
            redis.call('RPUSH', bodies, body)
            redis.call('EXPIRE', bodies, tonumber(ARGV[4]))
            if string.find(queue, ARGV[6], 1, true) ~= 1 then
                redis.call('RPUSH', queue, '0')
                redis.call('EXPIRE', queue, tonumber(ARGV[4]))
            end
        end
    end
end
return removed
