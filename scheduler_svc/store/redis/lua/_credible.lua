-- SPDX-License-Identifier: Apache-2.0
-- Whether a host's word counts for all that a claim on it holds, as in scheduler_svc/store/verbs/audit.py.
local SHARING_TRAIT = 'MISC_SHARES_VIA_AGGREGATE'

local function is_sharing(document)
  for _, trait in ipairs(document.traits) do
    if trait == SHARING_TRAIT then
      return true
    end
  end
  return false
end

-- Returns whether a provider has these amounts left, beside the claims other than `live`.
local function has_left(provider, amounts, live)
  local raw = redis.call('HGET', K.capacity, provider)
  local capacity, used = raw and cjson.decode(raw) or {}, sums_of(provider)
  local replaced = live and live.allocations[provider] or {}
  for class, amount in pairs(amounts) do
    if (used[class] or 0) - (replaced[class] or 0) + amount > capacity_in(capacity[class]) then
      return false
    end
  end
  return true
end

-- Providers outside the host's trees must share, and have the amounts left once `live` has ended. An unknown one may
-- be such a provider.
local function is_credible(claim, live)
  local host = host_of(claim.host)
  for provider, amounts in pairs(claim.allocations) do
    local raw = host_of(provider) ~= host and redis.call('HGET', K.providers, provider)
    local document = raw and cjson.decode(raw)
    if document and host_of(document.root) ~= host
      and not (is_sharing(document) and has_left(provider, amounts, live)) then
      return false
    end
  end
  return true
end
