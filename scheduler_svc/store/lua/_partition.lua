-- SPDX-License-Identifier: Apache-2.0
-- What every script that changes claims is made of. Reads ARGV[1] = most entries the log keeps.
-- Sums and group counts are changed in memory and written once, by flush().
--@ keys meta claims ended ended_at deadlines by_host groups providers capacity used changed opened excess log
local POSITION_LEAP = 1048576 -- positions that a new epoch skips: more than any log may have forgotten
local UNKNOWN_END = 'unknown' -- the end of a claim that never was

-- Redis turns a number into text ten times slower than this does.
local function int(number)
  return string.format('%d', number)
end

local clock = redis.call('TIME')
local now = clock[1] * 1000 + math.floor(clock[2] / 1000)
local now_text = int(now)
local place = redis.call('HMGET', K.meta, 'epoch', 'position')
local epoch, position = tonumber(place[1]), tonumber(place[2])
if not epoch then
  return redis.error_reply('NOEPOCH the partition has no epoch: its store was emptied')
end

local quote = cjson.encode
local sums, touched, touched_set = {}, {}, {}
local group_hosts, open_hosts = {}, {}

local function host_of(name)
  return string.match(name, '^[^/]*')
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
  redis.call('XADD', K.log, 'MAXLEN', '~', ARGV[1], int(position) .. '-0',
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

local function count(claim, sign)
  for provider, amounts in pairs(claim.allocations) do
    local used = sums_of(provider)
    for class, amount in pairs(amounts) do
      used[class] = (used[class] or 0) + sign * amount
    end
    if not touched_set[provider] then
      touched_set[provider] = true
      touched[#touched + 1] = provider
    end
  end
  if type(claim.group) == 'table' then
    local group = group_of(claim.group.id)
    local left = (group.hosts[claim.host] or 0) + sign
    group.hosts[claim.host] = left ~= 0 and left or nil
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
    last = math.max(last, tonumber(attempt) or 0) -- one key is no attempt: 'settled'
  end
  return last
end

-- How an attempt ended; an attempt older than an ended one has ended too.
local function end_of(ends, attempt)
  return ends[attempt] or (tonumber(attempt) < last_end(ends) and 'aborted') or nil
end

local function bury(consumer, attempt, state, settled)
  local ends = ends_of(consumer)
  ends[int(attempt)] = state
  ends.settled = settled and epoch or ends.settled
  redis.call('HSET', K.ended, consumer, cjson.encode(ends))
  redis.call('ZADD', K.ended_at, now_text, consumer)
end

local function hold(claim, text)
  redis.call('HSET', K.claims, claim.consumer, text)
  redis.call('ZADD', K.by_host, '0', claim.host .. '|' .. claim.consumer)
  if claim.state == 'prepared' then
    redis.call('ZADD', K.deadlines, int(claim.deadline_ms), claim.consumer)
  end
  count(claim, 1)
end

-- Can no later attempt than this live one have been forgotten? Its host stands by it in this epoch, and a next
-- attempt is made only when the former has ended.
local function is_newest(claim)
  return is_open(claim.host) and type(claim.orphan_ms) ~= 'number'
end

local function end_claim(claim, state)
  redis.call('HDEL', K.claims, claim.consumer)
  redis.call('ZREM', K.by_host, claim.host .. '|' .. claim.consumer)
  redis.call('ZREM', K.deadlines, claim.consumer)
  count(claim, -1)
  bury(claim.consumer, claim.attempt, state, is_newest(claim))
end

local function confirm_claim(claim)
  redis.call('ZREM', K.deadlines, claim.consumer)
  claim.state, claim.generation = 'confirmed', claim.generation + 1
  claim.deadline_ms, claim.orphan_ms = nil, nil
  redis.call('HSET', K.claims, claim.consumer, cjson.encode(claim))
end

local function is_past(claim)
  return claim.state == 'prepared' and claim.deadline_ms <= now
end

-- The live claim in `raw`; one past its deadline on an open host ends here.
local function settle(raw)
  local claim = raw and cjson.decode(raw) or nil
  if claim and is_past(claim) and is_open(claim.host) then
    end_claim(claim, 'expired')
    return nil
  end
  return claim
end

-- End claims past their deadline, oldest first; park those whose host must audit first, and drop what has no claim.
-- Returns how many ended.
local function expire(limit)
  local due = redis.call('ZRANGEBYSCORE', K.deadlines, '-inf', now_text, 'LIMIT', '0', limit)
  local ended = 0
  if #due == 0 then
    return ended
  end
  local raws = redis.call('HMGET', K.claims, unpack(due))
  for i, consumer in ipairs(due) do
    if raws[i] and not settle(raws[i]) then
      ended = ended + 1
    else
      redis.call('ZREM', K.deadlines, consumer)
    end
  end
  return ended
end

-- A class is held as its capacity alone, or with the amounts that it is handed out in: [capacity, min, max, step].
local function capacity_in(unit)
  return type(unit) == 'table' and unit[1] or unit or 0
end

-- Compare a provider's sums with its capacity; `flag` what is over, clear what no longer is.
local function weigh(provider, used, flag)
  local raw = redis.call('HGET', K.capacity, provider)
  local held = raw and cjson.decode(raw) or {}
  for class, amount in pairs(used) do
    if amount <= capacity_in(held[class]) then
      redis.call('HDEL', K.excess, provider .. '|' .. class)
    elseif flag then
      redis.call('HSETNX', K.excess, provider .. '|' .. class, now_text)
    end
  end
end

-- Drop the sums of a provider that is gone and holds nothing any more.
local function forget_idle(provider, used)
  for _, amount in pairs(used) do
    if amount ~= 0 then
      return
    end
  end
  if redis.call('HEXISTS', K.providers, provider) == 0 then
    redis.call('HDEL', K.used, provider)
    redis.call('HDEL', K.changed, provider)
  end
end

-- Sums as JSON; class names are plain.
local function sums_text(used)
  local parts = {}
  for class, amount in pairs(used) do
    parts[#parts + 1] = string.format('"%s":%d', class, amount)
  end
  return '{' .. table.concat(parts, ',') .. '}'
end

-- A call takes a bounded number of arguments: write many fields in lots.
local function write_fields(key, fields)
  for first = 1, #fields, 1000 do
    redis.call('HSET', key, unpack(fields, first, math.min(#fields, first + 999)))
  end
end

-- Write sums and group counts, and log the sums: one entry a script. Returns them as JSON.
local function flush(flag)
  for id, group in pairs(group_hosts) do
    if group.changed then
      if next(group.hosts) then
        redis.call('HSET', K.groups, id, cjson.encode(group.hosts))
      else
        redis.call('HDEL', K.groups, id)
      end
    end
  end
  if #touched == 0 then
    return '{}'
  end
  local written, changed, body = {}, {}, {}
  local next_position = int(position + 1)
  for i, provider in ipairs(touched) do
    local text = sums_text(sums[provider])
    written[2 * i - 1], written[2 * i] = provider, text
    changed[2 * i - 1], changed[2 * i] = provider, next_position
    body[i] = quote(provider) .. ':' .. text
  end
  local text = '{' .. table.concat(body, ',') .. '}'
  write_fields(K.used, written)
  write_fields(K.changed, changed)
  append('used', text)
  if flag or redis.call('HLEN', K.excess) > 0 then
    for _, provider in ipairs(touched) do
      weigh(provider, sums[provider], flag)
    end
  end
  for _, provider in ipairs(touched) do
    forget_idle(provider, sums[provider])
  end
  return text
end
