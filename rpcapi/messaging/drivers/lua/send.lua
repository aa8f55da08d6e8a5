-- SPDX-License-Identifier: Apache-2.0
-- Append a message to a list, unless it is full, and ring its bell if it has one: in a list of bells, or for a server
-- in the inbox of its process, if there is one. The keys are arguments, not KEYS: EVALSHA requires the permission to
-- read its KEYS, and a sender may only append. Redis checks the permissions of each command below.
-- ARGV    1 list   2 maximum length   3 TTL of the list, seconds   4 message
--         5 key of the receipt, or ''   6 TTL of the receipt, seconds
--         7 list of bells, or the beginning of an inbox's key with 10, or ''   8 bell   9 TTL of the bells, seconds
--         10 key with the process of the server, or ''
-- Returns 1, or 0 when the list is full and nothing was changed

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
