-- SPDX-License-Identifier: Apache-2.0
-- Replace a service's document, unless it is no longer as it was read; its nodes are no longer what deciders saw.
-- ARGV: log length, name, document as it was read, new document
-- Returns: 1 when it was replaced, else 0
--@ keys services reports eligible
--@ include _partition
if redis.call('HGET', K.services, ARGV[2]) ~= ARGV[3] then
  return 0
end
redis.call('HSET', K.services, ARGV[2], ARGV[4])
append('service', '{' .. quote(ARGV[2]) .. ':' .. ARGV[4] .. '}')
if redis.call('HEXISTS', K.reports, ARGV[2]) == 1 then
  redis.call('HSET', K.eligible, ARGV[2], int(position))
end
return 1
