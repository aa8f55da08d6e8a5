-- SPDX-License-Identifier: Apache-2.0
-- Baseline of the claim script: the reads and writes of one claim on its last candidate, without any logic.
-- All values are prepared by the caller. K has the claim script's keys.
-- ARGV: log length, consumer, claim as JSON, host|consumer, deadline in ms, sums as JSON, log body as JSON,
--       request id, decision record as JSON, then for each candidate: its name, its service host
-- Returns: a reply of the same shape as the claim script's
local clock = redis.call('TIME')
local now = string.format('%d', clock[1] * 1000 + math.floor(clock[2] / 1000))
local place = redis.call('HMGET', K.meta, 'epoch', 'position', 'time', 'clock')
redis.call('HSET', K.meta, 'time', now, 'clock', now)
redis.call('ZRANGEBYSCORE', K.deadlines, '-inf', now, 'LIMIT', '0', '32')
redis.call('HMGET', K.claims, ARGV[2])
redis.call('HMGET', K.ended, ARGV[2])
redis.call('HMGET', K.sources, ARGV[2])
redis.call('HLEN', K.unverified)
redis.call('HGET', K.capacity, ARGV[10])
redis.call('HGET', K.used, ARGV[10])
redis.call('HMGET', K.eligible, ARGV[10], ARGV[11])
redis.call('HGET', K.opened, ARGV[11])
for i = 12, #ARGV, 2 do
  redis.call('HGET', K.changed, ARGV[i - 2])
  redis.call('HGET', K.capacity, ARGV[i])
  redis.call('HGET', K.used, ARGV[i])
  redis.call('HMGET', K.eligible, ARGV[i], ARGV[i + 1])
  redis.call('HGET', K.opened, ARGV[i + 1])
end
redis.call('SCARD', K.awaited)
for class, amount in pairs({ [''] = 1, VCPU = 1, MEMORY_MB = 1024, DISK_GB = 1 }) do
  local field = '"lab","lab","INSTANCE","' .. class .. '"'
  if redis.call('HINCRBY', K.tallies, field, string.format('%d', amount)) == amount then
    redis.call('ZADD', K.tallied, '0', field)
  end
end
redis.call('HSET', K.claims, ARGV[2], ARGV[3])
redis.call('ZADD', K.by_host, '0', ARGV[4])
redis.call('ZADD', K.deadlines, ARGV[5], ARGV[2])
local host = ARGV[#ARGV - 1]
redis.call('HSET', K.used, host, ARGV[6])
redis.call('HSET', K.changed, host, place[2])
local position = redis.call('HINCRBY', K.meta, 'position', 1)
redis.call('XADD', K.log, 'MAXLEN', '~', ARGV[1], string.format('%d-0', position),
           'schema', 1, 'kind', 'used', 'body', ARGV[7])
redis.call('HLEN', K.excess)
local id = redis.call('XADD', K.decisions, '*', 'request_id', ARGV[8], 'document', ARGV[9])
redis.call('HSET', K.decided, ARGV[8], id)
redis.call('HINCRBY', K.meta, 'decision_bytes', #ARGV[9])
return { 1, 1, place[1], position, ARGV[6], 'prepared', host, '', ARGV[5], 'FITS' }
