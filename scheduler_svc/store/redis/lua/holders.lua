-- SPDX-License-Identifier: Apache-2.0
-- Returns a page of the live claims whose host is a provider, or that hold from it besides, in order.
-- ARGV: log length, provider, name of the last claim of the former page or '', maximum number of claims
-- Returns: generation base, name of the last claim if more follow else '', then each claim as JSON
--@ args log_length provider marker limit
--@ include _partition
expire()
flush(false)
local head, limit, names = A.provider .. '|', tonumber(A.limit), {}
local function note(members)
  for _, member in ipairs(members) do
    names[#names + 1] = string.sub(member, #head + 1)
  end
end
local first, last = (A.marker == '' and '[' or '(') .. head .. A.marker, '(' .. head .. '\255'
note(redis.call('ZRANGEBYLEX', K.by_host, first, last, 'LIMIT', 0, limit + 1))
note(redis.call('ZRANGEBYLEX', K.holders, first, last, 'LIMIT', 0, limit + 1))
table.sort(names)
local base = redis.call('HGET', K.meta, 'generation_base') or '0'
if #names == 0 then
  return { base, '' }
end
local shown = math.min(#names, limit)
return { base, #names > limit and names[limit] or '', unpack(redis.call('HMGET', K.claims, unpack(names, 1, shown))) }
