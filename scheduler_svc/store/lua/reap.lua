-- SPDX-License-Identifier: Apache-2.0
-- Tidy: end claims past their deadline, log services that fell silent, drop old tombstones and pins.
-- ARGV: log length, ms of silence after which a service is down or '', ms that a tombstone is kept, most of each
-- Returns: how many claims ended
--@ keys beats alive pins pins_at
--@ include _partition
local limit = tonumber(ARGV[4])
local ended = expire(limit)
flush(false)

local silent = {}
if ARGV[2] ~= '' then
  silent = redis.call('ZRANGEBYSCORE', K.beats, '-inf', now - tonumber(ARGV[2]))
end
local body = {}
for _, name in ipairs(silent) do
  if redis.call('HGET', K.alive, name) == '1' then
    redis.call('HSET', K.alive, name, '0')
    body[#body + 1] = quote(name) .. ':false'
  end
end
if #body > 0 then
  append('alive', '{' .. table.concat(body, ',') .. '}')
end

local old = redis.call('ZRANGEBYSCORE', K.ended_at, '-inf', now - tonumber(ARGV[3]), 'LIMIT', 0, limit)
if #old > 0 then
  redis.call('HDEL', K.ended, unpack(old))
  redis.call('ZREM', K.ended_at, unpack(old))
end

local unasked = redis.call('ZRANGEBYSCORE', K.pins_at, '-inf', now_text, 'LIMIT', 0, limit)
if #unasked > 0 then
  redis.call('HDEL', K.pins, unpack(unasked))
  redis.call('ZREM', K.pins_at, unpack(unasked))
end
return ended
