-- SPDX-License-Identifier: Apache-2.0
-- Replaces a service's document if it is still as it was read; earlier decisions on its nodes become stale. Where that
-- ends a duplicate identity, an earlier return of an agent proves nothing any more.
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
local report = redis.call('HGET', K.reports, A.name)
if report then
  local mark = '"duplicate_ms":%d'
  if string.find(A.read_document, mark) and not string.find(A.document, mark) then
    redis.call('HSET', K.reports, A.name, (string.gsub(report, ',"returned_ms":%d+', '')))
  end
  redis.call('HSET', K.eligible, A.name, int(position))
end
return 1
