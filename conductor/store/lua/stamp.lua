-- SPDX-License-Identifier: Apache-2.0
-- Stores stamps of partitions, unless the stored stamp is later.
-- ARGV: partition, stamp "epoch.position.code", ...
-- Returns: number of stored stamps
--@ include _header
--@ keys stamps

local function place(stamp)
  local epoch, position = string.match(stamp or '', '^(%d+)%.(%d+)%.')
  return tonumber(epoch) or 0, tonumber(position) or 0
end

local stored = 0
for i = REST, #ARGV, 2 do
  local epoch, position = place(ARGV[i + 1])
  local newest_epoch, newest_position = place(redis.call('HGET', K.stamps, ARGV[i]))
  if epoch > newest_epoch or (epoch == newest_epoch and position > newest_position) then
    redis.call('HSET', K.stamps, ARGV[i], ARGV[i + 1])
    stored = stored + 1
  end
end
return stored
