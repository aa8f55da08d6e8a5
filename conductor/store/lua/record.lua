-- SPDX-License-Identifier: Apache-2.0
-- Records a request with all its instances or nothing, and makes it due. A request whose step is not the first has
-- begun.
-- ARGV: request key, request document, status, step, version, instance document, caller's time of the first try in ms
--       or '', ms for which callers may repeat a request, deadline of the call in ms or '', amounts per instance and
--       limits of the project (both "name=amount name=amount ..."), maximum number of waiting instances, uuid...
-- Returns: one of
-- - {'recorded', last number assigned}
-- - {'known'}: the request was recorded before
-- - {'conflict', uuid}
-- - {'late', server's clock in ms}: the deadline has passed
-- - {'old', server's clock in ms}: first sent too long ago
-- - {'quota', name, amount in use}: a limit is too low
-- - {'overloaded', number of waiting instances, wait of the oldest new request in ms}: backlog and the project's share
--   are full
--@ args request document status step version instance first_sent_ms repeat_horizon_ms deadline_ms amounts limits
--@ args max_backlog
--@ include _usage
--@ keys requests instances listed everything pending left counts waiting

local request, status, step = A.request, A.status, A.step
if redis.call('HEXISTS', K.requests, request) == 1 then
  return {'known'}
end
if A.deadline_ms ~= '' and server_clock > tonumber(A.deadline_ms) then
  return {'late', whole(server_clock)}
end
if A.first_sent_ms ~= '' and server_clock - tonumber(A.first_sent_ms) > tonumber(A.repeat_horizon_ms) then
  return {'old', whole(server_clock)}
end
for i = REST, #ARGV do
  if redis.call('HEXISTS', K.instances, ARGV[i]) == 1 then
    return {'conflict', ARGV[i]}
  end
end
local count = #ARGV - REST + 1
local project = project_of(request)
local amounts = parse_amounts(A.amounts)
amounts.recorded_instances = 1
local usage = parse_amounts(redis.call('HGET', K.usage, project))
for name, limit in string.gmatch(A.limits, '(%S+)=(%d+)') do
  local used = usage[name] or 0
  if amounts[name] and used + count * amounts[name] > tonumber(limit) then
    return {'quota', name, whole(used)}
  end
end
local waiting = tonumber(redis.call('HGET', K.counts, status)) or 0
if waiting + count > tonumber(A.max_backlog) then
  local own = tonumber(redis.call('HGET', K.waiting, project)) or 0
  local projects = redis.call('HLEN', K.waiting) + (own == 0 and 1 or 0)
  if own + count > tonumber(A.max_backlog) / projects then
    local oldest = redis.call('ZRANGE', K.new_wakes, 0, 0, 'WITHSCORES')[2] or now
    return {'overloaded', whole(waiting), whole(math.max(0, now - oldest))}
  end
end
local created = whole(now)
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
if step == NEW_STEP then
  set_new(request, count, now)
  redis.call('HINCRBY', K.waiting, project, count)
else
  set_due(request, now)
  count_begun(project, count)
end
redis.call('HINCRBY', K.counts, status, count)
redis.call('HSET', K.amounts, request, A.amounts)
count_instances(request, count, count)
return {'recorded', sequence}
