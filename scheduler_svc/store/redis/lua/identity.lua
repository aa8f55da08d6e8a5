-- SPDX-License-Identifier: Apache-2.0
-- Records the server's identity; begins a new epoch if it may have forgotten something, once even if workers race.
-- ARGV: log length, run id as read or '', epoch as read or 0, run id, replication id,
--       1 if it may have forgotten something else 0, highest epoch and position that the caller has observed
-- Returns: epoch, position, 1 if this call began the epoch else 0
--@ args log_length read_run_id read_epoch run_id replid may_have_forgotten observed_epoch observed_position
--@ keys meta opened awaited reports alive log
local POSITION_LEAP = 1048576 -- positions that a new epoch skips: more than any log may have forgotten
local clock = redis.call('TIME')
local now = clock[1] * 1000 + math.floor(clock[2] / 1000)
local recorded = redis.call('HMGET', K.meta, 'run_id', 'epoch', 'position')
local epoch, position = tonumber(recorded[2] or 0), tonumber(recorded[3] or 0)
if (recorded[1] or '') ~= A.read_run_id or epoch ~= tonumber(A.read_epoch) then
  return { epoch, position, 0 }
end
redis.call('HSET', K.meta, 'schema', 1, 'run_id', A.run_id, 'replid', A.replid)
if A.may_have_forgotten == '0' and epoch > 0 then
  return { epoch, position, 0 }
end

epoch = math.max(epoch + 1, tonumber(A.observed_epoch) + 1, now)
local highest = math.max(position, tonumber(A.observed_position))
position = highest > 0 and highest + POSITION_LEAP or 1
for _, host in ipairs(redis.call('HKEYS', K.opened)) do
  redis.call('SADD', K.awaited, host)
end
for _, host in ipairs(redis.call('HKEYS', K.reports)) do
  if redis.call('HGET', K.alive, host) == '1' then -- the store may have forgotten its opening
    redis.call('SADD', K.awaited, host)
  end
end
redis.call('HSET', K.meta, 'epoch', epoch, 'position', position)
redis.call('XADD', K.log, 'MAXLEN', '~', A.log_length, string.format('%.0f-0', position),
           'schema', 1, 'kind', 'epoch', 'body', epoch)
return { epoch, position, 1 }
