-- SPDX-License-Identifier: Apache-2.0
-- Verdict on a candidate: whether the required amounts fit, as in rpcapi/resources/fit, on sums with the batch's deltas.
-- Reads A.position of the decision, A.resources, A.group and A.group_generation of the batch.
local decided_at = tonumber(A.position)
local resources_text = A.resources
local resources = resources_text ~= '' and cjson.decode(resources_text) or nil
local group = A.group ~= '' and cjson.decode(A.group) or nil
local capacities, eligibles, homes, host_read, candidates = {}, {}, {}, {}, {}
local deltas, member_deltas = {}, {} -- what the batch plans to add to sums and to the group's members
-- The generation of the group's home up to which this partition was left.
local left = group and redis.call('HGET', K.pins, 'left:' .. group.id) or ''

-- Returns the candidate of a text, the same one for all intents: a large batch names each host many times.
local function read_candidate(text)
  local candidate = candidates[text]
  if not candidate then
    local host, sums_position, required_text = string.match(text, '^(%S+) ?(%d*) ?(.*)$')
    candidate = { host = host, quoted = quote(host), sums_position = tonumber(sums_position) or decided_at }
    if required_text ~= '' then
      candidate.required, candidate.required_text = cjson.decode(required_text), required_text
    else
      candidate.flat = true -- everything is required of the host itself: the usual case, without loops over providers
      candidate.required = { [host] = resources }
      candidate.required_text = '{' .. candidate.quoted .. ':' .. resources_text .. '}'
    end
    candidates[text] = candidate
  end
  return candidate
end

-- Reads hash fields, in batches because the number of arguments of a call is limited.
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

-- Reads the data to judge these candidates, in few commands: of their hosts, providers, and service hosts.
local function fetch(batch)
  local names, hosts, related = {}, {}, {}
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
  for _, candidate in ipairs(batch) do
    note(candidate.host)
    for provider in pairs(candidate.required) do
      note(provider)
    end
  end
  if #names == 0 then
    return
  end
  local capacity, used = read_fields(K.capacity, names), read_fields(K.used, names)
  for i, name in ipairs(names) do
    capacities[name] = capacity[i] and cjson.decode(capacity[i])
    sums[name] = sums[name] or (used[i] and cjson.decode(used[i])) or {}
    related[i] = name
  end
  for _, host in ipairs(hosts) do
    related[#related + 1] = host
  end
  local eligible = read_fields(K.eligible, related)
  for i, name in ipairs(related) do
    eligibles[name] = tonumber(eligible[i] or 0)
  end
  for i, opened in ipairs(read_fields(K.opened, hosts)) do
    open_hosts[hosts[i]] = hosts[i] == '@api' or tonumber(opened or 0) == epoch
  end
end

-- Reads the data to judge a flat candidate.
local function fetch_flat(name)
  if capacities[name] == nil then
    local capacity, host = redis.call('HGET', K.capacity, name), host_of(name)
    homes[name] = host
    capacities[name] = capacity and cjson.decode(capacity) or false
    sums_of(name)
    local eligible = redis.call('HMGET', K.eligible, name, host)
    eligibles[name], eligibles[host] = tonumber(eligible[1] or 0), tonumber(eligible[2] or 0)
    is_open(host)
  end
end

-- Reads the data of all first candidates together: most intents take their first candidate.
local function fetch_first(intents)
  local firsts = {}
  if #intents == 1 then
    return -- it is read when it is judged
  end
  for _, intent in ipairs(intents) do
    if #intent.texts > 0 then
      firsts[#firsts + 1] = read_candidate(intent.texts[1])
    end
  end
  fetch(firsts)
end

-- Adds a claim to the batch's deltas (sign 1), or subtracts it (-1).
local function plan(claim, sign)
  for provider, amounts in pairs(claim.allocations) do
    local planned = deltas[provider] or {}
    deltas[provider] = planned
    for class, amount in pairs(amounts) do
      planned[class] = (planned[class] or 0) + sign * amount
    end
  end
  if group and type(claim.group) == 'table' and claim.group.id == group.id then
    member_deltas[claim.host] = (member_deltas[claim.host] or 0) + sign
  end
end

local function has_inventories(required)
  for provider, amounts in pairs(required) do
    local capacity = capacities[provider]
    for class in pairs(amounts) do
      if not capacity or not capacity[class] then
        return false
      end
    end
  end
  return true
end

local function fits(provider, amounts)
  local capacity, used, planned = capacities[provider], sums[provider], deltas[provider]
  for class, amount in pairs(amounts) do
    local unit = capacity[class]
    local total = (used[class] or 0) + (planned and planned[class] or 0) + amount
    if total > capacity_in(unit) then
      return false
    elseif type(unit) == 'table' and (amount < unit[2] or amount > unit[3] or amount % unit[4] ~= 0) then
      return false
    end
  end
  return true
end

-- Returns the number of the group's members on a host, with those that the batch plans.
local function members_on(host)
  return (group_of(group.id).hosts[host] or 0) + (member_deltas[host] or 0)
end

local function are_members_only_on(host, hosts)
  for other in pairs(hosts) do
    if other ~= host and members_on(other) > 0 then
      return false
    end
  end
  return true
end

-- Returns whether the group is in another partition now. Without a generation the claim is an alternate: its group is
-- here while it has members, or has returned.
local function has_left()
  if A.group_generation == '' then
    return left ~= '' and not string.find(left, ' ', 1, true) and not next(group_of(group.id).hosts)
  end
  return A.group_generation <= left
end

-- Notes that a claim under a later generation than that of leaving is accepted: the group is here again.
local function note_return()
  if group and A.group_generation ~= '' and left ~= '' and not string.find(left, ' ', 1, true) then
    left = left .. ' returned'
    redis.call('HSET', K.pins, 'left:' .. group.id, left)
  end
end

local function group_allows(host)
  if not group then
    return true
  elseif has_left() then
    return false
  elseif group.policy == 'anti-affinity' then
    return members_on(host) < group.max_per_host
  elseif group.policy ~= 'affinity' or members_on(host) > 0 then
    return true -- soft policies are not enforced here
  end
  return are_members_only_on(host, group_of(group.id).hosts) and are_members_only_on(host, member_deltas)
end

-- Returns whether an affinity group has members on several hosts, of which audits, records or operators may end some.
local function may_be_rejoined()
  local hosts = group and group.policy == 'affinity' and group_of(group.id).hosts or {}
  return next(hosts) and next(hosts, next(hosts)) and (awaits_any() or has_any_unverified())
end

local function read_change(candidate)
  if candidate.flat then
    return tonumber(redis.call('HGET', K.changed, candidate.host) or 0) > candidate.sums_position
  end
  local providers = {}
  for provider in pairs(candidate.required) do
    providers[#providers + 1] = provider
  end
  for _, changed in ipairs(redis.call('HMGET', K.changed, unpack(providers))) do
    if tonumber(changed or 0) > candidate.sums_position then
      return true
    end
  end
  return false
end

-- Returns whether the sums or inventories of the candidate's providers changed since the decision.
local function has_changed(candidate)
  if candidate.changed == nil then
    candidate.changed = read_change(candidate)
  end
  return candidate.changed
end

local function is_stale(name)
  return eligibles[name] > decided_at or eligibles[homes[name]] > decided_at
end

-- Returns whether any provider or its service host changed eligibility after the decision, and whether all are open.
local function staleness_and_openness(candidate)
  local host = candidate.host
  local stale, open = is_stale(host), open_hosts[homes[host]]
  if not candidate.flat then
    for provider in pairs(candidate.required) do
      stale, open = stale or is_stale(provider), open and open_hosts[homes[provider]]
    end
  end
  return stale, open
end

-- Returns whether claims that the store may have forgotten could rule the candidate out: members of an affinity group
-- without known ones, and what is held from a provider that another host shares. The audits of their hosts will show.
local function awaits_audits(candidate)
  if not awaits_any() then
    return false
  elseif group and group.policy == 'affinity' and not next(group_of(group.id).hosts) then
    return true
  end
  for provider in pairs(candidate.flat and {} or candidate.required) do
    if homes[provider] ~= homes[candidate.host] then
      return true
    end
  end
  return false
end

-- Returns UNKNOWN, STALE or CLOSED, or FITS for a candidate that only lacks the comparison of sums.
local function eligibility_of(candidate)
  if candidate.flat then
    fetch_flat(candidate.host)
  else
    fetch({ candidate })
  end
  if not capacities[candidate.host] then
    return 'UNKNOWN'
  end
  local stale, open = staleness_and_openness(candidate)
  if not has_inventories(candidate.required) then
    return stale and 'STALE' or 'UNKNOWN' -- the tree changed: the removed provider existed at the decision
  elseif not open then
    return 'CLOSED'
  end
  return stale and 'STALE' or 'FITS'
end

local function capacity_verdict(candidate)
  for provider, amounts in pairs(candidate.required) do
    if not fits(provider, amounts) then
      return has_changed(candidate) and 'CONCURRENT' or 'FULL'
    end
  end
  if not may_be_rejoined() and not group_allows(candidate.host) then
    return 'GROUP'
  end
  return (may_be_rejoined() or awaits_audits(candidate)) and 'CLOSED' or 'FITS'
end

-- Returns the verdict on a candidate. One that was lost is not judged again: sums and members only grow, once the batch
-- has planned what it ends.
local function judge(candidate)
  candidate.verdict = candidate.verdict or eligibility_of(candidate)
  if candidate.verdict == 'FITS' then
    candidate.verdict = capacity_verdict(candidate)
  end
  return candidate.verdict
end
