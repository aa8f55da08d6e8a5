-- SPDX-License-Identifier: Apache-2.0
-- Does a candidate take what is asked? The rule of rpcapi/model/fit, on sums with the batch's own deltas.
-- Reads ARGV[3] = the position that was decided on, ARGV[7] = resources, ARGV[8] = group.
local seen = tonumber(ARGV[3])
local resources_text = ARGV[7]
local resources = resources_text ~= '' and cjson.decode(resources_text) or nil
local group = ARGV[8] ~= '' and cjson.decode(ARGV[8]) or nil
local capacities, eligibles, homes, host_read, deltas, members = {}, {}, {}, {}, {}, {}
if group then
  for host, n in pairs(group_of(group.id).hosts) do
    members[host] = n
  end
end

local function name_of(candidate)
  return string.match(candidate, '^%S+')
end

local candidates = {} -- by argument: the first ones are read before they are tried

local function read_candidate(at)
  if not candidates[at] then
    local host, since, asked_text = string.match(ARGV[at], '^(%S+) ?(%d*) ?(.*)$')
    local one = { host = host, seen = tonumber(since) or seen }
    if asked_text ~= '' then
      one.asked, one.asked_text = cjson.decode(asked_text), asked_text
    else
      one.flat = true -- all is asked of the host itself: most are, and are spared the loops over providers
      one.asked, one.asked_text = { [host] = resources }, '{' .. quote(host) .. ':' .. resources_text .. '}'
    end
    candidates[at] = one
  end
  return candidates[at]
end

-- A call takes a bounded number of arguments: read many fields in lots.
local function read_fields(key, names)
  local values = {}
  if #names > 0 and #names <= 1000 then
    return redis.call('HMGET', key, unpack(names))
  end
  for first = 1, #names, 1000 do
    for i, value in ipairs(redis.call('HMGET', key, unpack(names, first, math.min(#names, first + 999)))) do
      values[first + i - 1] = value
    end
  end
  return values
end

-- Read what is judged of these candidates, all at once: their hosts and other providers, and the service hosts of those.
local function fetch(wanted)
  local names, hosts, speaking = {}, {}, {}
  local function note(name)
    if capacities[name] == nil then
      capacities[name] = false
      names[#names + 1] = name
      local host = host_of(name)
      homes[name] = host
      if not host_read[host] then
        host_read[host] = true
        hosts[#hosts + 1] = host
      end
    end
  end
  for _, candidate in ipairs(wanted) do
    note(candidate.host)
    for provider in pairs(candidate.asked) do
      note(provider)
    end
  end
  if #names == 0 then
    return
  end
  local held, used = read_fields(K.capacity, names), read_fields(K.used, names)
  for i, name in ipairs(names) do
    capacities[name] = held[i] and cjson.decode(held[i])
    sums[name] = sums[name] or (used[i] and cjson.decode(used[i])) or {}
    speaking[i] = name
  end
  for _, host in ipairs(hosts) do
    speaking[#speaking + 1] = host
  end
  local eligible = read_fields(K.eligible, speaking)
  for i, name in ipairs(speaking) do
    eligibles[name] = tonumber(eligible[i] or 0)
  end
  for i, opened in ipairs(read_fields(K.opened, hosts)) do
    open_hosts[hosts[i]] = tonumber(opened or 0) == epoch
  end
end

-- The same for a candidate that asks its host alone.
local function fetch_flat(name)
  if capacities[name] == nil then
    local held, host = redis.call('HGET', K.capacity, name), host_of(name)
    homes[name] = host
    capacities[name] = held and cjson.decode(held) or false
    sums_of(name)
    local eligible = redis.call('HMGET', K.eligible, name, host)
    eligibles[name], eligibles[host] = tonumber(eligible[1] or 0), tonumber(eligible[2] or 0)
    is_open(host)
  end
end

-- Most intents are served by their first candidate: read all of those at once.
local function fetch_first(intents)
  local firsts = {}
  if #intents == 1 then
    return -- it is read when it is judged
  end
  for _, one in ipairs(intents) do
    if one.last >= one.first then
      firsts[#firsts + 1] = read_candidate(one.first)
    end
  end
  fetch(firsts)
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
    local held = capacities[provider]
    for class in pairs(amounts) do
      if not held or not held[class] then
        return false
      end
    end
  end
  return true
end

local function fits(provider, amounts)
  local held, used, planned = capacities[provider], sums[provider], deltas[provider]
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
  elseif group.policy ~= 'affinity' then
    return true -- a soft policy is a wish
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
  if candidate.flat then
    return tonumber(redis.call('HGET', K.changed, candidate.host) or 0) > candidate.seen
  end
  local providers = {}
  for provider in pairs(candidate.asked) do
    providers[#providers + 1] = provider
  end
  for _, changed in ipairs(redis.call('HMGET', K.changed, unpack(providers))) do
    if tonumber(changed or 0) > candidate.seen then
      return true
    end
  end
  return false
end

local function is_stale(name)
  return eligibles[name] > seen or eligibles[homes[name]] > seen
end

-- Did the eligibility of any provider, or of its service host, change after the decision? And are all hosts open?
local function standing(candidate)
  local host = candidate.host
  local stale, open = is_stale(host), open_hosts[homes[host]]
  if not candidate.flat then
    for provider in pairs(candidate.asked) do
      stale, open = stale or is_stale(provider), open and open_hosts[homes[provider]]
    end
  end
  return stale, open
end

local function judge(candidate)
  if candidate.flat then
    fetch_flat(candidate.host)
  else
    fetch({ candidate })
  end
  if not capacities[candidate.host] then
    return 'UNKNOWN'
  end
  local stale, open = standing(candidate)
  if not known(candidate.asked) then
    return stale and 'STALE' or 'UNKNOWN' -- what is gone from a tree that changed was there when it was decided on
  elseif not open then
    return 'CLOSED'
  elseif stale then
    return 'STALE'
  end
  for provider, amounts in pairs(candidate.asked) do
    if not fits(provider, amounts) then
      return has_changed(candidate) and 'CONCURRENT' or 'FULL'
    end
  end
  return group_allows(candidate.host) and 'FITS' or 'GROUP'
end
