-- SPDX-License-Identifier: Apache-2.0
-- Expires overdue claims, marks silent services down, drops old tombstones and expired pins, and ends the collection of
-- host names.
-- ARGV: log length, ms without heartbeat until a service is down or '', ms of the collection of host names in a new
--       epoch, ms to keep tombstones, limit per kind
-- Returns: number of expired claims, 1 if a limit was reached else 0, age in ms of the prepared claim with the next
--          deadline or 0
--@ args log_length silence_ms collect_ms tombstone_ms limit
--@ keys awaited beats alive pins pins_at
--@ include _partition
--@ include _unnamed
local limit = tonumber(A.limit)
local ended, due = expire(limit)
flush(false)

local silent = {}
if A.silence_ms ~= '' then
  silent = redis.call('ZRANGEBYSCORE', K.beats, '-inf', now - tonumber(A.silence_ms))
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

local began = tonumber(redis.call('ZSCORE', K.beats, UNNAMED_HOSTS) or now)
if now - began >= tonumber(A.collect_ms) then
  redis.call('SREM', K.awaited, UNNAMED_HOSTS)
  redis.call('ZREM', K.beats, UNNAMED_HOSTS)
end

local old = redis.call('ZRANGEBYSCORE', K.ended_at, '-inf', now - tonumber(A.tombstone_ms), 'LIMIT', 0, limit)
if #old > 0 then
  redis.call('HDEL', K.ended, unpack(old))
  redis.call('ZREM', K.ended_at, unpack(old))
end

local expired_pins = redis.call('ZRANGEBYSCORE', K.pins_at, '-inf', now_text, 'LIMIT', 0, limit)
if #expired_pins > 0 then
  redis.call('HDEL', K.pins, unpack(expired_pins))
  redis.call('ZREM', K.pins_at, unpack(expired_pins))
end

local consumer = redis.call('ZRANGE', K.deadlines, 0, 0)[1]
local raw = consumer and redis.call('HGET', K.claims, consumer)
local prepared_ms = raw and math.max(0, clock - cjson.decode(raw).created_ms) or 0
return { ended, math.max(due, #old, #expired_pins) >= limit and 1 or 0, prepared_ms }
