-- SPDX-License-Identifier: Apache-2.0
-- Hosts on which claims count. Include after _partition.

-- Returns the root of a provider's tree; an unknown provider is its own root.
local function root_of(provider)
  local raw = redis.call('HGET', K.providers, provider)
  return raw and cjson.decode(raw).root or provider
end

-- Returns the set of hosts on which a claim counts: its host, or the roots of an API-owned claim's providers.
local function hosts_of_claim(claim)
  local hosts = {}
  if not is_of_api(claim) then
    return { [claim.host] = true }
  end
  for provider in pairs(claim.allocations) do
    hosts[root_of(provider)] = true
  end
  return hosts
end
