-- SPDX-License-Identifier: Apache-2.0
-- Replaces a service's document if it is still as it was read; earlier decisions on its nodes become stale.
-- ARGV: log length, name, document as it was read, new document
-- Returns: 1 if it was replaced, else 0
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
