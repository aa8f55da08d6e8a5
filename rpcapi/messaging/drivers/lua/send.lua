-- SPDX-License-Identifier: Apache-2.0
-- Append a message to a queue, unless it is full, and ring its bell if it has one.
-- KEYS    1 messages of the queue (list)   2 bells of the queue (list), absent for a queue with a single reader
-- ARGV    1 maximum length   2 TTL of the queue, seconds   3 message   4 key of the receipt, or ''
--         5 TTL of the receipt, seconds
-- Returns 1, or 0 when the queue is full and nothing was changed

if redis.call('LLEN', KEYS[1]) >= tonumber(ARGV[1]) then
    return 0
end
redis.call('LPUSH', KEYS[1], ARGV[3])
redis.call('EXPIRE', KEYS[1], ARGV[2])
if KEYS[2] then
    redis.call('LPUSH', KEYS[2], '0')
    redis.call('EXPIRE', KEYS[2], ARGV[2])
end
if ARGV[4] ~= '' then
    redis.call('SET', ARGV[4], '', 'EX', ARGV[5])
end
return 1
