-- SPDX-License-Identifier: Apache-2.0
-- Amounts of a host's audit that the store believes, as in scheduler_svc/store/verbs/credibility.py.
--@ include _sorted
local SHARING_TRAIT = 'MISC_SHARES_VIA_AGGREGATE'
local MAX_PROVIDERS = 64 -- of one claim, as in scheduler_svc/store/validation.py
local MAX_CLASSES = 32 -- of one provider in one claim, as there

local function is_sharing(document)
  for _, trait in ipairs(document.traits) do
    if trait == SHARING_TRAIT then
      return true
    end
  end
  return false
end

-- Returns whether a provider has these amounts left once those `replaced` are free.
local function has_left(provider, amounts, replaced)
  local raw = redis.call('HGET', K.capacity, provider)
  local capacity, used = raw and cjson.decode(raw) or {}, sums_of(provider)
  for class, amount in pairs(amounts) do
    if (used[class] or 0) - (replaced[class] or 0) + amount > capacity_in(capacity[class]) then
      return false
    end
  end
  return true
end

local function document_of(provider)
  local raw = redis.call('HGET', K.providers, provider)
  return raw and cjson.decode(raw)
end

-- Returns whether a provider belongs to a service host, by its name or by its tree.
local function is_own(host, provider)
  local document = host_of(provider) ~= host and document_of(provider)
  return host_of(provider) == host or (document and host_of(document.root) == host)
end

-- Returns whether a host may hold these amounts from a provider outside its trees once those `replaced` are free.
-- The provider must share, and have the amounts left. An unknown provider may be a sharing one.
local function may_hold(provider, amounts, replaced)
  local document = document_of(provider)
  return not document or (is_sharing(document) and has_left(provider, amounts, replaced))
end

-- Returns whether a host's word counts for all that a claim on it holds, once `live` has ended.
local function is_credible(claim, live)
  local host = host_of(claim.host)
  for provider, amounts in pairs(claim.allocations) do
    if not is_own(host, provider) and not may_hold(provider, amounts, live and live.allocations[provider] or {}) then
      return false
    end
  end
  return true
end

-- Returns `before` with each larger amount of `amounts`, whether there is one, and the number of classes.
local function raise_amounts(before, amounts)
  local raised, is_raised, classes = {}, false, 0
  for class, amount in pairs(before) do
    raised[class], classes = amount, classes + 1
  end
  for class, amount in pairs(amounts) do
    classes = classes + (raised[class] and 0 or 1)
    is_raised = is_raised or amount > (raised[class] or 0)
    raised[class] = math.max(amount, raised[class] or 0)
  end
  return raised, is_raised, classes
end

-- Returns the allocations of a live claim after its host's report `claim`: never less than before. Providers outside the
-- host's trees get more only if the store may have forgotten that.
local function believed_allocations(live, claim, may_be_forgotten)
  local host, allocations, providers = host_of(claim.host), {}, 0
  for provider, amounts in pairs(live.allocations) do
    allocations[provider], providers = amounts, providers + 1
  end
  for _, provider in ipairs(sorted_keys(claim.allocations)) do
    local before = live.allocations[provider] or {}
    local raised, is_raised, classes = raise_amounts(before, claim.allocations[provider])
    local number = providers + (allocations[provider] and 0 or 1)
    if is_raised and classes <= MAX_CLASSES and number <= MAX_PROVIDERS
      and (is_own(host, provider) or (may_be_forgotten and may_hold(provider, raised, before))) then
      allocations[provider], providers = raised, number
    end
  end
  return allocations
end
