-- SPDX-License-Identifier: Apache-2.0
-- Replaces inventories of the Placement API's providers together with what consumers hold, all or nothing, as
-- verbs/reshaping.py does; or nothing where the providers have changed since the plan read them.
-- ARGV: log length, epoch as read, number of providers, number of service hosts, then
--       for each provider: id, document while allocations are replaced or '' if that is no step of its own, its
--       capacity then as JSON, document afterwards, its capacity then, the classes that it loses as a JSON list;
--       for each provider: id, document as read, increments of the generation as read or '' if they do not count;
--       service hosts of agents in whose trees this is;
--       seven for each consumer: see _allocating
-- Returns: 1, and as allocate why it is refused, the resource classes joined by commas; or 0
--@ args log_length epoch providers hosts
--@ keys api_changed
--@ include _partition
--@ include _allocating
local EXPIRE_BATCH = 1000 -- claims past their deadline that are ended first, at most
local first_read = REST + 6 * tonumber(A.providers)
local first_host = first_read + 3 * tonumber(A.providers)
local first_change = first_host + tonumber(A.hosts)

local function is_as_read()
  local same = tonumber(A.epoch) == epoch
  for i = first_read, first_host - 1, 3 do
    same = same and redis.call('HGET', K.providers, ARGV[i]) == ARGV[i + 1]
      and (ARGV[i + 2] == '' or (redis.call('HGET', K.generations, ARGV[i]) or '0') == ARGV[i + 2])
  end
  return same
end

local plans = {}
for i = REST, first_read - 1, 6 do
  plans[#plans + 1] = {
    provider = ARGV[i], interim = ARGV[i + 1], interim_capacity = ARGV[i + 2], final = ARGV[i + 3],
    final_capacity = ARGV[i + 4], removed = cjson.decode(ARGV[i + 5]),
  }
end

local function in_use()
  for _, planned in ipairs(plans) do
    local classes = {}
    for _, class in ipairs(planned.removed) do
      if sum_afterwards(planned.provider, class) > 0 then
        classes[#classes + 1] = class
      end
    end
    if #classes > 0 then
      return { 'in use', '', planned.provider, table.concat(classes, ','), '' }
    end
  end
end

-- Logs one document of each provider that has it.
local function log_documents(part)
  local body = {}
  for _, planned in ipairs(plans) do
    if planned[part] ~= '' then
      body[#body + 1] = quote(planned.provider) .. ':' .. planned[part]
    end
  end
  if #body > 0 then
    append('provider', '{' .. table.concat(body, ',') .. '}')
  end
end

local function begin()
  log_documents('interim')
  for _, planned in ipairs(plans) do
    if planned.interim ~= '' then
      redis.call('HSET', K.capacity, planned.provider, planned.interim_capacity)
      redis.call('HINCRBY', K.generations, planned.provider, 1)
    end
  end
end

local function finish()
  log_documents('final')
  for _, planned in ipairs(plans) do
    local provider = planned.provider
    redis.call('HSET', K.providers, provider, planned.final)
    redis.call('HSET', K.capacity, provider, planned.final_capacity)
    redis.call('HSET', K.changed, provider, int(position))
    update_excess(provider, sums_of(provider), true)
    redis.call('HINCRBY', K.generations, provider, 1)
  end
  for i = first_host, first_change - 1 do
    redis.call('HSET', K.api_changed, ARGV[i], int(position))
  end
  redis.call('HSET', K.meta, 'vocabulary', int(position))
end

expire(EXPIRE_BATCH)
if not is_as_read() then
  flush(false)
  return { 0 }
end
read_changes(first_change)
for _, planned in ipairs(plans) do
  capacities[planned.provider] = cjson.decode(planned.interim_capacity)
end
local refused = refusal() or in_use()
if refused then
  flush(false)
  return { 1, unpack(refused) }
end
begin()
replace_all()
flush(false)
finish()
return { 1 }
