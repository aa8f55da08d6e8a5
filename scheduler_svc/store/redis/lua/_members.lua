-- SPDX-License-Identifier: Apache-2.0
-- Hosts on which claims count as group members. Include after _partition.

-- Returns the root of a provider's tree; an unknown provider is its own root.
local function root_of(provider)
  local raw = redis.call('HGET', K.providers, provider)
  return raw and cjson.decode(raw).root or provider
end

-- Returns the set of hosts on which a claim counts: its host, or for an API-owned claim the roots of its providers.
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
