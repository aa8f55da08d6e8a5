-- SPDX-License-Identifier: Apache-2.0
-- Read one page of instances in the order of their creation.
-- ARGV: sequence after which to read, limit, '1' to include the deleted
-- Returns: {uuid, record, ...}
--@ keys listed everything instances

local index = ARGV[3] == '1' and K.everything or K.listed
local answer = {}
for _, uuid in ipairs(redis.call('ZRANGEBYSCORE', index, '(' .. ARGV[1], '+inf', 'LIMIT', 0, ARGV[2])) do
  answer[#answer + 1] = uuid
  answer[#answer + 1] = redis.call('HGET', K.instances, uuid)
end
return answer
