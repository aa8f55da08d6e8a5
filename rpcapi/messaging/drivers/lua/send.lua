-- SPDX-License-Identifier: Apache-2.0
-- Append a message to a list unless it is full, and ring its bell, if any: in a list of bells, or for a server in the
-- inbox of its process. Keys are passed as ARGV, because EVALSHA requires read permission on KEYS and senders may only
-- append. Redis still checks permissions of each command below.
-- ARGV    1 list   2 maximum length   3 TTL of the list, seconds   4 message
--         5 key of the receipt, or ''   6 TTL of the receipt, seconds
--         7 list of bells, or with 10 the prefix of an inbox key, or ''   8 bell   9 TTL of the bells, seconds
--         10 key with the process of the server, or ''
-- Returns 1, or 0 if the list is full and nothing was changed

if redis.call('LLEN', ARGV[1]) >= tonumber(ARGV[2]) then
    return 0
end
local bells = ARGV[7]
if ARGV[10] ~= '' then
    local process = redis.call('GET', ARGV[10])
    bells = process and bells .. process or ''
end
redis.call('LPUSH', ARGV[1], ARGV[4])
redis.call('EXPIRE', ARGV[1], ARGV[3])
if bells ~= '' then
    redis.call('LPUSH', bells, ARGV[8])
    redis.call('EXPIRE', bells, ARGV[9])
end
if ARGV[5] ~= '' then
    redis.call('SET', ARGV[5], '', 'EX', ARGV[6])
end
return 1
