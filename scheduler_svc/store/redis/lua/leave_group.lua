-- SPDX-License-Identifier: Apache-2.0
-- Closes the partition to a server group without members: refuses claims decided under this generation or earlier.
-- ARGV: log length, group, generation, lifetime in ms, 1 to do nothing if the store may have forgotten members
-- Returns: number of the group's live claims (does nothing unless 0), 1 if the store may have forgotten others
--@ args log_length group generation ttl_ms only_if_certain
--@ keys pins pins_at
--@ include _partition
--@ include _forgotten
expire()
local members = 0
for _, count in pairs(group_of(A.group).hosts) do
  members = members + count
end
flush(false)
if members == 0 and not (A.only_if_certain == '1' and awaits_any()) then
  local key = 'left:' .. A.group
  local left = string.match(redis.call('HGET', K.pins, key) or '', '^%S*') -- without the " returned" suffix
  redis.call('HSET', K.pins, key, left > A.generation and left or A.generation)
  redis.call('ZADD', K.pins_at, int(now + tonumber(A.ttl_ms)), key)
end
return { members, awaits_any() and 1 or 0 }
