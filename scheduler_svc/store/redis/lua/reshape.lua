-- SPDX-License-Identifier: Apache-2.0
-- Replaces inventories of the Placement API's providers together with what consumers hold, all or nothing, as
-- verbs/reshaping.py does; or nothing where the providers have changed since the plan read them.
-- ARGV: log length, epoch as read, number of providers, number of service hosts, then
--       for each provider: id, document while allocations are replaced or '' if that is no step of its own, its
--       capacity then as JSON, document afterwards, its capacity then, the classes that it loses as a JSON list;
--       for each provider, what the plan read of it: see _plan;
--       service hosts of agents in whose trees this is;
--       seven for each consumer: see _allocating
-- Returns: 1, and as allocate why it is refused, the resource classes joined by commas; or 0
--@ args log_length epoch providers hosts
--@ keys api_changed
--@ include _partition
--@ include _allocating
--@ include _plan
local plan_rows, reads, hosts = rows(A.providers, 6), rows(A.providers, 4), rows(A.hosts, 1)

local plans = {}
for provider, interim, interim_capacity, final, final_capacity, removed in plan_rows do
  plans[#plans + 1] = {
    provider = provider, interim = interim, interim_capacity = interim_capacity, final = final,
    final_capacity = final_capacity, removed = cjson.decode(removed),
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
  for host in hosts do
    redis.call('HSET', K.api_changed, host, int(position))
  end
  redis.call('HSET', K.meta, 'vocabulary', int(position))
end

expire()
if not is_as_read(A.epoch, reads) then
  flush(false)
  return { 0 }
end
read_changes(at)
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
