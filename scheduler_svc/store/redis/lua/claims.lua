-- SPDX-License-Identifier: Apache-2.0
-- Returns a page of live claims, in the order of the index by host.
-- ARGV: log length, maximum number of claims, then pairs of lexicographic bounds, in order
-- Returns: the last index member if more follow, else ''; then each claim as JSON
--@ args log_length limit
--@ include _partition
expire()
flush(false)
local limit, members, more = tonumber(A.limit), {}, false
for i = REST, #ARGV, 2 do
  local matches = redis.call('ZRANGEBYLEX', K.by_host, ARGV[i], ARGV[i + 1], 'LIMIT', 0, limit + 1 - #members)
  for _, member in ipairs(matches) do
    if #members < limit then
      members[#members + 1] = member
    else
      more = true
    end
  end
  if more then
    break
  end
end
if #members == 0 then
  return { '' }
end
local consumers = {}
for i, member in ipairs(members) do
  consumers[i] = string.match(member, '|(.*)$')
end
return { more and members[limit] or '', unpack(redis.call('HMGET', K.claims, unpack(consumers))) }
