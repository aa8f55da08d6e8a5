-- SPDX-License-Identifier: Apache-2.0
-- Sums up all claims where an older version created the partition: once, and so in one step however many they are.
-- ARGV: log length
-- Returns: nothing
--@ args log_length
--@ include _partition
local PAGE = 1000 -- claims that one command reads, approximately
if redis.call('HGET', K.meta, 'tallied') then
  return {}
end
redis.call('DEL', K.tallies, K.tallied)
local cursor = '0'
repeat
  local reply = redis.call('HSCAN', K.claims, cursor, 'COUNT', PAGE)
  cursor = reply[1]
  for i = 2, #reply[2], 2 do
    tally(cjson.decode(reply[2][i]), 1)
  end
until cursor == '0'
write_tallies()
redis.call('HSET', K.meta, 'tallied', 1)
return {}
