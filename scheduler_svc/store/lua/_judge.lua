-- SPDX-License-Identifier: Apache-2.0
-- Does a candidate take what is asked? The rule of rpcapi/model/fit, on sums with the batch's own deltas.
-- Reads ARGV[3] = the position that was decided on, ARGV[7] = resources, ARGV[8] = group.
local seen = tonumber(ARGV[3])
local resources_text = ARGV[7]
local resources = resources_text ~= '' and cjson.decode(resources_text) or nil
local group = ARGV[8] ~= '' and cjson.decode(ARGV[8]) or nil
local capacities, eligibles, deltas, members = {}, {}, {}, {}
if group then
  for host, n in pairs(group_of(group.id).hosts) do
    members[host] = n
  end
end

local function name_of(candidate)
  return string.match(candidate, '^%S+')
end

local function read_candidate(text)
  local host, since, asked_text = string.match(text, '^(%S+) ?(%d*) ?(.*)$')
  local one = { host = host, seen = tonumber(since) or seen }
  if asked_text ~= '' then
    one.asked, one.asked_text = cjson.decode(asked_text), asked_text
  else
    one.asked, one.asked_text = { [host] = resources }, '{' .. quote(host) .. ':' .. resources_text .. '}'
  end
  return one
end

-- Most intents are served by their first candidate: read all of those at once, others when they are tried.
local function prefetch(intents)
  local names, hosts, known = {}, {}, {}
  for _, one in ipairs(intents) do
    local name = one.last >= one.first and name_of(ARGV[one.first])
    if name and not known[name] then
      known[name] = true
      names[#names + 1], hosts[#hosts + 1] = name, host_of(name)
    end
  end
  if #names == 0 then
    return
  end
  local held = redis.call('HMGET', K.capacity, unpack(names))
  local used = redis.call('HMGET', K.used, unpack(names))
  local eligible = redis.call('HMGET', K.eligible, unpack(names))
  local opened = redis.call('HMGET', K.opened, unpack(hosts))
  for i, name in ipairs(names) do
    capacities[name] = held[i] and cjson.decode(held[i]) or false
    eligibles[name] = tonumber(eligible[i] or 0)
    open_hosts[hosts[i]] = tonumber(opened[i] or 0) == epoch
    if not sums[name] then
      sums[name] = used[i] and cjson.decode(used[i]) or {}
    end
  end
end

local function capacity_of(provider)
  if capacities[provider] == nil then
    local raw = redis.call('HGET', K.capacity, provider)
    capacities[provider] = raw and cjson.decode(raw) or false
  end
  return capacities[provider]
end

local function eligible_since(name)
  if eligibles[name] == nil then
    eligibles[name] = tonumber(redis.call('HGET', K.eligible, name) or 0)
  end
  return eligibles[name]
end

-- Count a claim into, or out of, what the batch plans.
local function plan(claim, sign)
  for provider, amounts in pairs(claim.allocations) do
    local planned = deltas[provider] or {}
    deltas[provider] = planned
    for class, amount in pairs(amounts) do
      planned[class] = (planned[class] or 0) + sign * amount
    end
  end
  if group and type(claim.group) == 'table' and claim.group.id == group.id then
    members[claim.host] = (members[claim.host] or 0) + sign
  end
end

local function known(asked)
  for provider, amounts in pairs(asked) do
    local held = capacity_of(provider)
    for class in pairs(amounts) do
      if not held or not held[class] then
        return false
      end
    end
  end
  return true
end

local function fits(provider, amounts)
  local held, used, planned = capacity_of(provider), sums_of(provider), deltas[provider]
  for class, amount in pairs(amounts) do
    local unit = held[class]
    local total = (used[class] or 0) + (planned and planned[class] or 0) + amount
    if total > capacity_in(unit) then
      return false
    elseif type(unit) == 'table' and (amount < unit[2] or amount > unit[3] or amount % unit[4] ~= 0) then
      return false
    end
  end
  return true
end

local function group_allows(host)
  if not group then
    return true
  end
  if group.policy == 'anti-affinity' then
    return (members[host] or 0) < group.max_per_host
  end
  for other, n in pairs(members) do
    if other ~= host and n > 0 then
      return false
    end
  end
  return true
end

-- Did the sums or inventories of what is asked for change since they were decided on?
local function has_changed(candidate)
  for provider in pairs(candidate.asked) do
    if tonumber(redis.call('HGET', K.changed, provider) or 0) > candidate.seen then
      return true
    end
  end
  return false
end

local function judge(candidate)
  local host, asked = candidate.host, candidate.asked
  if not capacity_of(host) or not known(asked) then
    return 'UNKNOWN'
  elseif not is_open(host) then
    return 'CLOSED'
  elseif eligible_since(host) > seen then
    return 'STALE'
  end
  for provider, amounts in pairs(asked) do
    if not fits(provider, amounts) then
      return has_changed(candidate) and 'CONCURRENT' or 'FULL'
    end
  end
  return group_allows(host) and 'FITS' or 'GROUP'
end
