-- SPDX-License-Identifier: Apache-2.0
-- Closes a service host and releases some of its live claims; after the last of them the host is no longer awaited.
-- The fence is recorded by its token as a tombstone, {number of claims ended: 'fenced'}; while claims remain the end is
-- the word for progress with the epoch in which the host was open. A fence that was carried out, or whose host has
-- audited since it began, ends nothing more. The steps are those of scheduler_svc/store/verbs/fencing.py.
-- ARGV: log length, service host, name of the fence's tombstone, 1 to fence a host that is up else 0,
--       maximum number of claims to check, word for progress, 1 if the agent of another state folder may register then
-- Returns: number of claims ended by this fence, 1 if more remain else 0; -1 alone: the host is unknown;
--          -2 alone: the host is up
--@ args log_length host record force limit progress replace
--@ keys awaited reports alive services
--@ include _partition
local host, limit = A.host, tonumber(A.limit)
local recorded, state = next(ends_of(A.record))
local ended = tonumber(recorded or 0)
local opened = tonumber(redis.call('HGET', K.opened, host) or 0)

local function record(end_text)
  redis.call('HSET', K.ended, A.record, cjson.encode({ [int(ended)] = end_text }))
  redis.call('ZADD', K.ended_at, now_text, A.record)
end

if state == 'fenced' then
  return { ended, 0 }
elseif state and opened >= 0 then
  record('fenced') -- it has audited since the first step
  return { ended, 0 }
elseif state then
  opened = tonumber(string.sub(state, #A.progress + 1))
else
  if redis.call('HEXISTS', K.reports, host) + redis.call('HEXISTS', K.opened, host)
    + redis.call('SISMEMBER', K.awaited, host) == 0 then
    return { -1 }
  elseif A.force == '0' and redis.call('HGET', K.alive, host) == '1' then
    return { -2 }
  elseif opened >= 0 then
    append('opened', '{' .. quote(host) .. ':0}')
  end
end
open_hosts[host] = opened == epoch -- while it counts as open, its claims are their consumers' newest attempts
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
  record(A.progress .. int(opened))
  return { ended, 1 }
end
redis.call('SREM', K.awaited, host)
local service = A.replace == '1' and redis.call('HGET', K.services, host)
if service then
  service = cjson.decode(service)
  service.version = service.version + (service.replaced and 0 or 1)
  service.replaced = true
  service = cjson.encode(service)
  redis.call('HSET', K.services, host, service)
  append('service', '{' .. quote(host) .. ':' .. service .. '}')
end
record('fenced')
return { ended, 0 }
