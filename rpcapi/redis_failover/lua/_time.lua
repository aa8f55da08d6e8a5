-- SPDX-License-Identifier: Apache-2.0
-- The store's own time in ms. It advances with the server's clock, each step limited to 0 ... A.max_step_ms.
-- A hash records it in the field `time`, and the server's clock at that time in `clock`.
--@ args max_step_ms

-- Advances the time in the hash `key`. `time` and `clock` are its fields as read; false in a new store, whose time
-- begins at the server's clock. Returns the time, for every comparison, and the server's clock, for human readers.
local function advance_time(key, time, clock)
  local reading = redis.call('TIME')
  local now_clock = reading[1] * 1000 + math.floor(reading[2] / 1000)
  local step = clock and now_clock - clock or 0
  local now = time and time + math.max(0, math.min(step, tonumber(A.max_step_ms))) or now_clock
  if not time or step ~= 0 then
    -- if the server accepts no writes, read-only scripts still answer, and others fail at their own write
    redis.pcall('HSET', key, 'time', string.format('%d', now), 'clock', string.format('%d', now_clock))
  end
  return now, now_clock
end
