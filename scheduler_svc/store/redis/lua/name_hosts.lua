-- SPDX-License-Identifier: Apache-2.0
-- Awaits the audits of hosts that the store may have forgotten, while it still collects their names in this epoch:
-- of those that have neither audited nor been fenced in it.
-- ARGV: log length, epoch, 1 if these are the last of all names else 0, service hosts
-- Returns: 1 if it still collects names, else 0
--@ args log_length epoch complete
--@ keys awaited beats
--@ include _partition
--@ include _unnamed
if tonumber(A.epoch) ~= epoch or redis.call('SISMEMBER', K.awaited, UNNAMED_HOSTS) == 0 then
  return 0
end
for i = REST, #ARGV do
  if math.abs(tonumber(redis.call('HGET', K.opened, ARGV[i]) or 0)) ~= epoch then
    redis.call('SADD', K.awaited, ARGV[i])
  end
end
if A.complete == '0' then
  return 1
end
redis.call('SREM', K.awaited, UNNAMED_HOSTS)
redis.call('ZREM', K.beats, UNNAMED_HOSTS)
return 0
