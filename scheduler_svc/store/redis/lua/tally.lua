-- SPDX-License-Identifier: Apache-2.0
-- Sums up all claims, in one step however many they are: once where an older version created the partition, or always.
-- ARGV: log length, 1 to do it always else 0
-- Returns: the number of claims that were summed up
--@ args log_length always
--@ include _partition
local PAGE = 1000 -- claims that one command reads, approximately
if A.always ~= '1' and redis.call('HGET', K.meta, 'tallied') then
  return 0
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
return redis.call('HLEN', K.claims)
