-- SPDX-License-Identifier: Apache-2.0
-- Records the server's identity; begins an epoch if the server may have lost writes.
-- ARGV: log length, run id as read or '', epoch as read or 0, run id, replication id,
--       1 if the server may have lost writes else 0, highest epoch and position seen by the caller
-- Returns: epoch, position, 1 if this call began the epoch else 0
--@ args log_length
--@ include _identity
--@ include _unnamed
--@ keys meta opened awaited reports alive beats generations log
local POSITION_LEAP = 1048576 -- positions skipped by a new epoch, more than a store can lose
local clock = redis.call('TIME')
local clock_ms = clock[1] * 1000 + math.floor(clock[2] / 1000)
local epoch, position, begins = record_server(K.meta, 'position', clock_ms)
if not begins then
  return { epoch, position, 0 }
end

if position > 0 then -- otherwise the partition is new, and generations begin at 0
  position = position + POSITION_LEAP
  redis.call('HSET', K.meta, 'generation_base', position)
  redis.call('DEL', K.generations)
else
  position = 1
end
local opened = redis.call('HGETALL', K.opened)
for i = 1, #opened, 2 do
  if tonumber(opened[i + 1]) > 0 then -- otherwise the host was fenced
    redis.call('SADD', K.awaited, opened[i])
  end
end
for _, host in ipairs(redis.call('HKEYS', K.reports)) do
  if redis.call('HGET', K.alive, host) == '1' then -- the store may have forgotten the host's audit
    redis.call('SADD', K.awaited, host)
  end
end
if tonumber(A.read_epoch) > 0 or tonumber(A.observed_epoch) > 0 then -- otherwise the partition is new
  redis.call('SADD', K.awaited, UNNAMED_HOSTS)
  redis.call('ZADD', K.beats, redis.call('HGET', K.meta, 'time') or clock_ms, UNNAMED_HOSTS)
end
redis.call('HSET', K.meta, 'epoch', epoch, 'position', position)
redis.call('XADD', K.log, 'MAXLEN', '~', A.log_length, string.format('%.0f-0', position),
           'schema', 1, 'kind', 'epoch', 'body', epoch)
return { epoch, position, 1 }
