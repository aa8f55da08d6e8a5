-- SPDX-License-Identifier: Apache-2.0
-- Writes of changed sums, group counts and excess, once at the end of a script. Included by _partition.
local CLAIM_COUNTS = { claims = true, foreign_claims = true } -- pseudo classes in sums, which have no capacity

-- Returns the capacity in `unit`: capacity, [capacity, min_unit, max_unit, step_size], or nil without an inventory.
local function capacity_in(unit)
  return type(unit) == 'table' and unit[1] or unit or 0
end

-- Clears excess of a provider's classes that fit their capacity again; with `flag`, flags new excess.
local function update_excess(provider, used, flag)
  local raw = redis.call('HGET', K.capacity, provider)
  local capacity = raw and cjson.decode(raw) or {}
  for class, amount in pairs(used) do
    if amount <= capacity_in(capacity[class]) or CLAIM_COUNTS[class] then
      redis.call('HDEL', K.excess, provider .. '|' .. class)
    elseif flag then
      redis.call('HSETNX', K.excess, provider .. '|' .. class, now_text)
    end
  end
end

-- Drops the sums of a removed provider without claims.
local function drop_idle_sums(provider, used)
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

-- Encodes sums as JSON, without escapes, which class names do not need.
local function sums_text(used)
  local parts = {}
  for class, amount in pairs(used) do
    parts[#parts + 1] = string.format('"%s":%d', class, amount)
  end
  return '{' .. table.concat(parts, ',') .. '}'
end

-- Writes hash fields in batches, because Lua limits the number of arguments of a call.
local function write_fields(key, fields)
  for first = 1, #fields, 1000 do
    redis.call('HSET', key, unpack(fields, first, math.min(#fields, first + 999)))
  end
end

-- Writes changed tallies, sums and group counts; logs the sums in one entry. Returns the changed sums as JSON.
local function flush(flag)
  write_tallies()
  for id, group in pairs(group_hosts) do
    if group.changed then
      if next(group.hosts) then
        redis.call('HSET', K.groups, id, cjson.encode(group.hosts))
      else
        redis.call('HDEL', K.groups, id)
      end
    end
  end
  if #changed_providers == 0 then
    return '{}'
  end
  local written, changed, body = {}, {}, {}
  local next_position = int(position + 1)
  for i, provider in ipairs(changed_providers) do
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
    for _, provider in ipairs(changed_providers) do
      update_excess(provider, sums[provider], flag)
    end
  end
  for _, provider in ipairs(changed_providers) do
    drop_idle_sums(provider, sums[provider])
  end
  for provider in pairs(claimed_providers) do
    redis.call('HINCRBY', K.generations, provider, 1)
  end
  return text
end
