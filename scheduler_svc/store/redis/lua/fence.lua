-- SPDX-License-Identifier: Apache-2.0
-- Closes a service host and releases some of its live claims; after the last of them the host is no longer awaited.
-- The fence is recorded by its token as a tombstone, {number of claims ended: 'fenced'}; while claims remain
-- {progress: number}. A fence that was carried out, or whose host has audited since it began, ends nothing more.
-- ARGV: log length, service host, name of the fence's tombstone, 1 to fence a host that is up else 0,
--       maximum number of claims to check
-- Returns: number of claims ended by this fence, 1 if more remain else 0; -1 alone: the host is unknown;
--          -2 alone: the host is up
--@ args log_length host record force limit
--@ keys awaited reports alive
--@ include _partition
local host, limit = A.host, tonumber(A.limit)
local recorded = ends_of(A.record)
for number, state in pairs(recorded) do
  if state == 'fenced' then
    return { tonumber(number), 0 }
  end
end

local function record(ends)
  redis.call('HSET', K.ended, A.record, cjson.encode(ends))
  redis.call('ZADD', K.ended_at, now_text, A.record)
end

local ended = recorded.progress
if ended and is_open(host) then
  record({ [int(ended)] = 'fenced' })
  return { ended, 0 }
elseif not ended then
  if redis.call('HEXISTS', K.reports, host) + redis.call('HEXISTS', K.opened, host)
    + redis.call('SISMEMBER', K.awaited, host) == 0 then
    return { -1 }
  elseif A.force == '0' and redis.call('HGET', K.alive, host) == '1' then
    return { -2 }
  end
  ended = 0
end

is_open(host) -- cached before the host is closed: while it is open, its claims are their consumers' newest attempts
if tonumber(redis.call('HGET', K.opened, host) or 0) > 0 then
  append('opened', '{' .. quote(host) .. ':0}')
end
redis.call('HSET', K.opened, host, int(-epoch))

local members = {}
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
    end_claim(claim, 'fenced')
    ended = ended + 1
  end
end
flush(false)
if #members > limit then
  record({ progress = ended })
  return { ended, 1 }
end
redis.call('SREM', K.awaited, host)
record({ [int(ended)] = 'fenced' })
return { ended, 0 }
