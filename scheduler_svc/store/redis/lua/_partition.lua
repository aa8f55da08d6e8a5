-- SPDX-License-Identifier: Apache-2.0
-- Functions that all scripts of verbs share. Reads A.log_length, the maximum number of log entries.
-- Sums and group counts change in memory; flush() writes them once.
-- `now` is partition time, for comparisons; `clock_text` is the server's clock, for times that people read.
--@ include _time
--@ include _unverified
--@ include _tallies
--@ keys meta claims ended ended_at sources deadlines by_host holders groups providers capacity used changed opened excess generations log
local POSITION_LEAP = 1048576 -- positions skipped by a new epoch, more than a store can lose
local EXPIRE_BATCH = 1000 -- claims expired at the start of a script
local UNKNOWN_END = 'unknown' -- end of an attempt aborted before it had a claim

-- Returns a number as text, ten times faster than Redis converts it.
local function int(number)
  return string.format('%d', number)
end

local meta = redis.call('HMGET', K.meta, 'epoch', 'position', 'time', 'clock')
local epoch, position = tonumber(meta[1]), tonumber(meta[2])
if not epoch then
  return redis.error_reply('NOEPOCH the partition has no epoch: its store was emptied')
end
local now, clock = advance_time(K.meta, meta[3], meta[4])
local now_text, clock_text = int(now), int(clock)

local quote = cjson.encode
local sums, changed_providers, changed_set = {}, {}, {}
local claimed_providers = {} -- API-owned providers that got claims in this script
local group_hosts, open_hosts = {}, { ['@api'] = true } -- API-owned providers are never audited

local function host_of(name)
  return string.match(name, '^[^/]*')
end

-- Returns whether the Placement API owns a claim, whether a client or the scheduler made it.
local function is_of_api(claim)
  return host_of(claim.host) == '@api'
end

local function is_open(name)
  local host = host_of(name)
  if open_hosts[host] == nil then
    open_hosts[host] = tonumber(redis.call('HGET', K.opened, host) or 0) == epoch
  end
  return open_hosts[host]
end

local function append(kind, body)
  position = redis.call('HINCRBY', K.meta, 'position', 1)
  redis.call('XADD', K.log, 'MAXLEN', '~', A.log_length, int(position) .. '-0',
             'schema', 1, 'kind', kind, 'body', body)
  return position
end

local function sums_of(provider)
  if not sums[provider] then
    local raw = redis.call('HGET', K.used, provider)
    sums[provider] = raw and cjson.decode(raw) or {}
  end
  return sums[provider]
end

local function group_of(id)
  if not group_hosts[id] then
    local raw = redis.call('HGET', K.groups, id)
    group_hosts[id] = { hosts = raw and cjson.decode(raw) or {}, changed = false }
  end
  return group_hosts[id]
end

local function count_at(provider, amounts, host, sign)
  local used = sums_of(provider)
  for class, amount in pairs(amounts) do
    used[class] = (used[class] or 0) + sign * amount
  end
  used.claims = (used.claims or 0) + sign
  if host_of(provider) ~= host then
    used.foreign_claims = (used.foreign_claims or 0) + sign
  end
  if not changed_set[provider] then
    changed_set[provider] = true
    changed_providers[#changed_providers + 1] = provider
  end
end

-- Adds a claim to the sums (sign 1), or subtracts it (-1). An unverified claim counts only at its host's providers.
local function count(claim, sign)
  local host = host_of(claim.host)
  local only_host = claim.state == 'unverified' and host
  if not claim.allocations[claim.host] and claim.host ~= '@api' then
    count_at(claim.host, {}, host, sign)
  end
  for provider, amounts in pairs(claim.allocations) do
    if not only_host or host_of(provider) == only_host then
      count_at(provider, amounts, host, sign)
      if sign > 0 and string.sub(provider, 1, 5) == '@api/' then
        claimed_providers[provider] = true
      end
    end
  end
  local is_leaving = claim.type == 'MIGRATION' and type(claim.group) == 'table' and claim.group.policy == 'affinity'
  if type(claim.group) == 'table' and not is_leaving then
    local group = group_of(claim.group.id)
    local number = (group.hosts[claim.host] or 0) + sign
    group.hosts[claim.host] = number ~= 0 and number or nil
    group.changed = true
  end
end

local function ends_of(consumer)
  local raw = redis.call('HGET', K.ended, consumer)
  return raw and cjson.decode(raw) or {}
end

local function last_end(ends)
  local last = 0
  for attempt in pairs(ends) do
    last = math.max(last, tonumber(attempt))
  end
  return last
end

-- Returns whether a later attempt's tombstone proves that `attempt` has ended. See tombstones.py for their format.
local function proves_end_of(ends, attempt)
  for number, tombstone in pairs(ends) do
    if attempt < tonumber(string.match(tombstone, ':(%d+)$') or number) then
      return true
    end
  end
  return false
end

-- Returns how an attempt ended, or nil. If only a later attempt's tombstone proves the end, it counts as aborted.
local function end_of(ends, attempt)
  local own = ends[attempt]
  return own and string.match(own, '^[^:]*') or (proves_end_of(ends, tonumber(attempt)) and 'aborted') or nil
end

local function own_claim(consumer)
  local raw = redis.call('HGET', K.claims, consumer)
  return raw and cjson.decode(raw) or nil
end

-- Returns the source claim of a consumer's move, or nil.
local function source_of(consumer)
  local migration = redis.call('HGET', K.sources, consumer)
  return migration and own_claim(migration) or nil
end

-- Returns an attempt's live claim, or nil. It is `own`, the consumer's own claim, or the source of the consumer's move.
local function claim_of(own, consumer, attempt)
  local claim = own
  if not claim or claim.attempt ~= tonumber(attempt) then
    claim = source_of(consumer)
  end
  return claim and claim.attempt == tonumber(attempt) and claim or nil
end

-- Returns the migration of a source or destination, or nil.
local function move_of(claim)
  return claim.instance and claim.consumer or claim.migration
end

-- Records how an attempt ended. Its end proves that attempts before `proves_before` have ended too.
local function add_tombstone(consumer, attempt, state, proves_before)
  local ends = ends_of(consumer)
  ends[int(attempt)] = proves_before == tonumber(attempt) and state or state .. ':' .. int(proves_before)
  redis.call('HSET', K.ended, consumer, cjson.encode(ends))
  redis.call('ZADD', K.ended_at, now_text, consumer)
end

-- Stores a live claim, and adds it to all sums and indexes. `text` is its JSON; `claim` has the fields that are read.
local function add_claim(claim, text)
  redis.call('HSET', K.claims, claim.consumer, text)
  if claim.instance then
    redis.call('HSET', K.sources, claim.instance, claim.consumer)
  end
  redis.call('ZADD', K.by_host, '0', claim.host .. '|' .. claim.consumer)
  for provider in pairs(claim.allocations) do
    if provider ~= claim.host then
      redis.call('ZADD', K.holders, '0', provider .. '|' .. claim.consumer)
    end
  end
  if claim.state == 'prepared' then
    redis.call('ZADD', K.deadlines, int(claim.deadline_ms), claim.consumer)
  end
  count(claim, 1)
  tally(claim, 1)
  if claim.state == 'unverified' then
    count_unverified(claim, 1)
  end
end

-- Removes a live claim from all sums and indexes, without a tombstone: its attempt does not end.
local function drop_claim(claim)
  redis.call('HDEL', K.claims, claim.consumer)
  if claim.instance then
    redis.call('HDEL', K.sources, claim.instance)
  end
  redis.call('ZREM', K.by_host, claim.host .. '|' .. claim.consumer)
  for provider in pairs(claim.allocations) do
    if provider ~= claim.host then
      redis.call('ZREM', K.holders, provider .. '|' .. claim.consumer)
    end
  end
  redis.call('ZREM', K.deadlines, claim.consumer)
  count(claim, -1)
  tally(claim, -1)
  if claim.state == 'unverified' then
    count_unverified(claim, -1)
  end
end

-- Makes the destination of a move its instance's only claim, after the source has ended.
local function end_role_of_destination(source)
  local destination = own_claim(source.instance)
  if destination and destination.migration == source.consumer then
    destination.migration, destination.source_attempt = nil, nil
    redis.call('HSET', K.claims, source.instance, cjson.encode(destination))
  end
end

local function end_claim(claim, state)
  drop_claim(claim)
  if claim.state == 'unverified' then
    return -- says nothing about the attempt's end
  elseif claim.instance then
    end_role_of_destination(claim)
  end
  add_tombstone(claim.instance or claim.consumer, claim.attempt, state, claim.source_attempt or claim.attempt)
end

local function confirm_claim(claim)
  redis.call('ZREM', K.deadlines, claim.consumer)
  claim.state, claim.generation = 'confirmed', claim.generation + 1
  claim.deadline_ms, claim.orphan_ms = nil, nil
  redis.call('HSET', K.claims, claim.consumer, cjson.encode(claim))
end

local function is_expired(claim)
  return claim.state == 'prepared' and claim.deadline_ms <= now
end

-- Decodes the live claim in `raw`, or returns nil. An overdue claim on an open host expires instead.
local function live_claim(raw)
  local claim = raw and cjson.decode(raw) or nil
  if claim and is_expired(claim) and is_open(claim.host) then
    end_claim(claim, 'expired')
    return nil
  end
  return claim
end

-- Expires up to `limit` overdue claims, earliest deadline first; parks claims on hosts that are not open.
-- Returns (number of ended claims, number of due deadlines).
local function expire(limit)
  local consumers = redis.call('ZRANGEBYSCORE', K.deadlines, '-inf', now_text, 'LIMIT', '0', limit or EXPIRE_BATCH)
  local ended = 0
  if #consumers == 0 then
    return ended, 0
  end
  local raws = redis.call('HMGET', K.claims, unpack(consumers))
  for i, consumer in ipairs(consumers) do
    if raws[i] and not live_claim(raws[i]) then
      ended = ended + 1
    else
      redis.call('ZREM', K.deadlines, consumer)
    end
  end
  return ended, #consumers
end
--@ include _sums
