-- SPDX-License-Identifier: Apache-2.0
-- The store's own time in ms, which advances by the steps of the server's clock, each limited to 0 ... A.max_step_ms.
-- The fields `time` and `clock` of a hash record it, and the server's clock as it was read at that time.
--@ args max_step_ms

-- Advances the time recorded in the hash `key`; `time` and `clock` are its fields as read, false in a new store, whose
-- time begins at the server's clock. Returns the time, for every comparison, and the server's clock, for human readers.
local function advance_time(key, time, clock)
  local reading = redis.call('TIME')
  local now_clock = reading[1] * 1000 + math.floor(reading[2] / 1000)
  local step = clock and now_clock - clock or 0
  local now = time and time + math.max(0, math.min(step, tonumber(A.max_step_ms))) or now_clock
  if not time or step ~= 0 then
    -- where the server accepts no writes, a script that only reads still answers, and any other fails at its own write
    redis.pcall('HSET', key, 'time', string.format('%d', now), 'clock', string.format('%d', now_clock))
  end
  return now, now_clock
end
