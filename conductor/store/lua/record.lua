-- SPDX-License-Identifier: Apache-2.0
-- Record a request with all its instances, or nothing, and make it due.
-- ARGV: request key, request document, status, step, version, instance document, when the caller first sent the
--       request, by its clock in ms, or '', ms for which callers may repeat a request, uuid...
-- Returns: {'recorded', last number assigned}, {'known'} if the request was already recorded, {'conflict', uuid},
--          or {'old', server's clock in ms} if it was first sent too long ago
--@ args request document status step version instance first_sent_ms repeat_horizon_ms
--@ include _due
--@ keys requests instances listed everything pending left counts

local request, status, step = A.request, A.status, A.step
if redis.call('HEXISTS', K.requests, request) == 1 then
  return {'known'}
end
if A.first_sent_ms ~= '' and server_clock - tonumber(A.first_sent_ms) > tonumber(A.repeat_horizon_ms) then
  return {'old', whole(server_clock)}
end
for i = REST, #ARGV do
  if redis.call('HEXISTS', K.instances, ARGV[i]) == 1 then
    return {'conflict', ARGV[i]}
  end
end
local created = whole(now)
local count = #ARGV - REST + 1
local sequence = redis.call('HINCRBY', K.meta, 'sequence', count) - count
redis.call('HSET', K.requests, request, A.document)
for i = REST, #ARGV do
  local uuid = ARGV[i]
  sequence = sequence + 1
  local number = whole(sequence)
  local head = {
    request = request, status = status, step = step, wake = 0, version = A.version, created = created, updated = created,
    sequence = number,
  }
  redis.call('HSET', K.instances, uuid, pack_record(head, A.instance))
  redis.call('ZADD', K.listed, number, uuid)
  redis.call('ZADD', K.everything, number, uuid)
  redis.call('ZADD', K.pending, 0, request .. '|' .. uuid)
end
redis.call('HSET', K.left, request, count)
set_due(request, now)
redis.call('HINCRBY', K.counts, status, count)
return {'recorded', sequence}
