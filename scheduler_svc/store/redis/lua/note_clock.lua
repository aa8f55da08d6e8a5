-- SPDX-License-Identifier: Apache-2.0
-- Records the clock offset of a known service, if it is large enough to show.
-- ARGV: log length, name, the service's clock in ms, smallest recorded offset in ms
-- Returns: 1 if it was recorded, else 0
--@ args log_length name sent_ms least_ms
--@ keys services clock_offsets
--@ include _partition
local offset = tonumber(A.sent_ms) - clock
if math.abs(offset) < tonumber(A.least_ms) or redis.call('HEXISTS', K.services, A.name) == 0 then
  return 0
end
redis.call('HSET', K.clock_offsets, A.name, int(offset) .. ' ' .. now_text)
return 1
