-- SPDX-License-Identifier: Apache-2.0
-- Returns a page of a project's usage.
-- ARGV: log length, project, 1 and a user or 0 and '', marker (last field of the previous page) or '', page size
-- Returns: 'page', next marker or '', then per sum: [user, type, class] as JSON, the sum;
--          or only 'due': overdue claims are left, call again
--@ args log_length project has_user user marker limit
--@ include _partition
local _, due = expire()
flush(false)
if due == EXPIRE_BATCH then
  return { 'due' }
end
local head = cjson.encode(A.project) .. ','
local range = A.has_user == '1' and head .. cjson.encode(A.user) .. ',' or head
local first = A.marker == '' and '[' .. range or '(' .. A.marker
local fields = redis.call('ZRANGEBYLEX', K.tallied, first, '(' .. range .. '\255', 'LIMIT', '0', A.limit)
local out = { 'page', #fields == tonumber(A.limit) and fields[#fields] or '' }
if #fields > 0 then
  for i, sum in ipairs(redis.call('HMGET', K.tallies, unpack(fields))) do
    out[2 * i + 1], out[2 * i + 2] = '[' .. string.sub(fields[i], #head + 1) .. ']', sum
  end
end
return out
