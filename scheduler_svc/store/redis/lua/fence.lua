-- SPDX-License-Identifier: Apache-2.0
-- Closes a service host and releases some of its live claims; after the last of them the host is no longer awaited.
-- ARGV: log length, service host, maximum number of claims to check
-- Returns: number of claims ended, 1 if more remain else 0; -1 alone: the host is unknown
--@ args log_length host limit
--@ keys awaited reports
--@ include _partition
local host, limit = A.host, tonumber(A.limit)
if redis.call('HEXISTS', K.reports, host) + redis.call('HEXISTS', K.opened, host)
  + redis.call('SISMEMBER', K.awaited, host) == 0 then
  return { -1 }
end

is_open(host) -- cached before the host is closed: while it is open, its claims are their consumers' newest attempts
if redis.call('HDEL', K.opened, host) == 1 then
  append('opened', '{' .. quote(host) .. ':0}')
end

local members, ended = {}, 0
for _, after in ipairs({ '/', '|' }) do
  local head = host .. after
  for _, member in ipairs(redis.call('ZRANGEBYLEX', K.by_host, '[' .. head, '(' .. head .. '\255',
                                     'LIMIT', 0, limit + 1 - #members)) do
    members[#members + 1] = member
  end
end
for i = 1, math.min(limit, #members) do
  local claim = live_claim(redis.call('HGET', K.claims, string.match(members[i], '|(.*)$')))
  if claim then
    end_claim(claim, 'released')
    ended = ended + 1
  end
end
flush(false)
if #members > limit then
  return { ended, 1 }
end
redis.call('SREM', K.awaited, host)
return { ended, 0 }
