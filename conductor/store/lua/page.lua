-- SPDX-License-Identifier: Apache-2.0
-- Read one page of instances in the order of their creation.
-- ARGV: sequence after which to read, limit, '1' to include the deleted
-- Returns: {uuid, record, ...}
--@ args after limit deleted
--@ keys listed everything instances

local index = A.deleted == '1' and K.everything or K.listed
local answer = {}
for _, uuid in ipairs(redis.call('ZRANGEBYSCORE', index, '(' .. A.after, '+inf', 'LIMIT', 0, A.limit)) do
  answer[#answer + 1] = uuid
  answer[#answer + 1] = redis.call('HGET', K.instances, uuid)
end
return answer
