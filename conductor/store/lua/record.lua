-- SPDX-License-Identifier: Apache-2.0
-- Record a request with all its instances, or nothing, and make it due.
-- KEYS: meta, requests, instances, listed, everything, pending, left, due, counts
-- ARGV: request key, request document, status, step, instance document, uuid...
-- Returns: {'recorded'}, {'known'} if the request was already recorded, or {'conflict', uuid}
--@ include _header

local request, status, step = ARGV[1], ARGV[3], ARGV[4]
if redis.call('HEXISTS', KEYS[2], request) == 1 then
  return {'known'}
end
for i = 6, #ARGV do
  if redis.call('HEXISTS', KEYS[3], ARGV[i]) == 1 then
    return {'conflict', ARGV[i]}
  end
end
local now = clock()
local stamp = whole(now)
local count = #ARGV - 5
local sequence = redis.call('HINCRBY', KEYS[1], 'sequence', count) - count
redis.call('HSET', KEYS[2], request, ARGV[2])
for i = 6, #ARGV do
  local uuid = ARGV[i]
  sequence = sequence + 1
  local number = whole(sequence)
  local head = {
    request = request, status = status, step = step, wake = 0, version = 1, created = stamp, updated = stamp,
    sequence = number,
  }
  redis.call('HSET', KEYS[3], uuid, pack_record(head, ARGV[5]))
  redis.call('ZADD', KEYS[4], number, uuid)
  redis.call('ZADD', KEYS[5], number, uuid)
  redis.call('ZADD', KEYS[6], 0, request .. '|' .. uuid)
end
redis.call('HSET', KEYS[7], request, count)
redis.call('ZADD', KEYS[8], stamp, request)
redis.call('HINCRBY', KEYS[9], status, count)
return {'recorded'}
