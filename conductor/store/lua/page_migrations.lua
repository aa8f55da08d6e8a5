-- SPDX-License-Identifier: Apache-2.0
-- Read one page of migrations in the order of their creation.
-- ARGV: sequence after which to read, limit
-- Returns: {uuid, record, ...}
--@ args after limit
--@ keys listed_migrations migrations

local answer = {}
for _, uuid in ipairs(redis.call('ZRANGEBYSCORE', K.listed_migrations, '(' .. A.after, '+inf', 'LIMIT', 0, A.limit)) do
  answer[#answer + 1] = uuid
  answer[#answer + 1] = redis.call('HGET', K.migrations, uuid)
end
return answer
