-- SPDX-License-Identifier: Apache-2.0
-- Read one page of instances in the order of their creation.
-- KEYS: listed or everything, instances
-- ARGV: sequence after which to read, limit
-- Returns: {uuid, record, ...}

local answer = {}
for _, uuid in ipairs(redis.call('ZRANGEBYSCORE', KEYS[1], '(' .. ARGV[1], '+inf', 'LIMIT', 0, ARGV[2])) do
  answer[#answer + 1] = uuid
  answer[#answer + 1] = redis.call('HGET', KEYS[2], uuid)
end
return answer
