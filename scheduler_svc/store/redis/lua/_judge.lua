-- SPDX-License-Identifier: Apache-2.0
-- Verdict on a candidate, from sums and the batch's planned changes. Keep in sync with verbs/verdicts.py, and fits()
-- with rpcapi/resources/inventory.py.
-- Include after _candidates and _group_policy.
local deltas = {} -- planned changes of sums
local claim_deltas = {} -- planned changes of the number of claims, by node

-- Adds a claim to the planned changes (sign 1), or subtracts it (-1).
local function plan(claim, sign)
  for provider, amounts in pairs(claim.allocations) do
    local planned = deltas[provider] or {}
    deltas[provider] = planned
    for class, amount in pairs(amounts) do
      planned[class] = (planned[class] or 0) + sign * amount
    end
  end
  claim_deltas[claim.host] = (claim_deltas[claim.host] or 0) + sign
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

local function read_change(candidate)
  if candidate.flat then
    return tonumber(redis.call('HGET', K.changed, candidate.host) or 0) > candidate.sums_position
  end
  local providers = {}
  for provider in pairs(candidate.required) do
    providers[#providers + 1] = provider
  end
  for _, changed in ipairs(read_fields(K.changed, providers)) do
    if tonumber(changed or 0) > candidate.sums_position then
      return true
    end
  end
  return false
end

-- Returns whether the sums or inventories of the candidate's providers have changed since the decision.
local function has_changed(candidate)
  if candidate.changed == nil then
    candidate.changed = read_change(candidate)
  end
  return candidate.changed
end

local function is_stale(name)
  return eligibles[name] > decided_at or eligibles[homes[name]] > decided_at
end

-- Returns whether the eligibility of a provider or its service host has changed since the decision, and whether all
-- service hosts are open.
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

-- Returns whether awaited audits may change the verdict: forgotten claims matter for an affinity group without members,
-- and for providers of other service hosts.
local function awaits_audits(candidate)
  if not awaits_any() then
    return false
  elseif group and group.policy == 'affinity' and not next(members_by_host()) then
    return true
  end
  for provider in pairs(candidate.flat and {} or candidate.required) do
    if homes[provider] ~= homes[candidate.host] then
      return true
    end
  end
  return false
end

-- Returns UNKNOWN, STALE, CLOSED, or FITS if only capacity and group are left to judge.
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
    return stale and 'STALE' or 'UNKNOWN' -- a stale decision may name a provider that is gone
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
  local host = candidate.host
  if candidate.limit and (sums[host].claims or 0) + (claim_deltas[host] or 0) >= candidate.limit then
    return 'LIMIT'
  end
  if candidate.build_limit then
    local used = sums[host]
    local builds = math.max(0, (used.claims or 0) - (used.foreign_claims or 0) - tonumber(redis.call('HGET', K.built, host) or 0))
    if builds + (claim_deltas[host] or 0) >= candidate.build_limit then
      return 'LIMIT'
    end
  end
  if not may_be_rejoined() and not group_allows(host) then
    return 'GROUP'
  end
  return (may_be_rejoined() or awaits_audits(candidate)) and 'CLOSED' or 'FITS'
end

-- Returns the verdict on a candidate. A rejection is cached for the batch: all ends are planned before the first call,
-- so sums and members only grow.
local function judge(candidate)
  if candidate.verdict == 'GROUP' and candidate.host == source_host then
    candidate.verdict = 'FITS' -- judged before, for another instance
  end
  candidate.verdict = candidate.verdict or eligibility_of(candidate)
  if candidate.verdict == 'FITS' then
    candidate.verdict = capacity_verdict(candidate)
  end
  return candidate.verdict
end
