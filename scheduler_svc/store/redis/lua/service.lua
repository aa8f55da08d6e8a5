-- SPDX-License-Identifier: Apache-2.0
-- Replaces a service's document if it is still as it was read; earlier decisions on its nodes become stale.
-- ARGV: log length, name, document as it was read, new document
-- Returns: 1 if it was replaced, else 0
--@ args log_length name read_document document
--@ keys services reports eligible
--@ include _partition
if redis.call('HGET', K.services, A.name) ~= A.read_document then
  return 0
end
redis.call('HSET', K.services, A.name, A.document)
append('service', '{' .. quote(A.name) .. ':' .. A.document .. '}')
if redis.call('HEXISTS', K.reports, A.name) == 1 then
  redis.call('HSET', K.eligible, A.name, int(position))
end
return 1
