-- SPDX-License-Identifier: Apache-2.0
-- Policy of the batch's server group. Reads A.group, A.group_generation and A.members.
-- Include after _members and _candidates.
local group = A.group ~= '' and cjson.decode(A.group) or nil
local member_deltas = {} -- planned change of the group's members, by host
local source_host = nil -- where the current instance already counts, as the source of its move
local batch_consumers, members = {}, nil -- set of the intents' consumers; group members by host
-- Generation of the group's home up to which claims are refused, because the group has left this partition.
local left = group and redis.call('HGET', K.pins, 'left:' .. group.id) or ''

-- Returns the live claims of the listed consumers, without consumers of the batch and claims that name the group.
local function read_other_members(consumers)
  local claims = {}
  for i, raw in ipairs(read_fields(K.claims, consumers)) do
    local claim = raw and not batch_consumers[consumers[i]] and cjson.decode(raw)
    local names_group = claim and type(claim.group) == 'table' and claim.group.id == group.id
    if claim and not names_group and not is_expired(claim) then
      claims[#claims + 1] = claim
    end
  end
  return claims
end

-- Returns {host = number of members} before the batch: the group's claims, and the members named in A.members.
local function members_by_host()
  if not members then
    members = {}
    for host, number in pairs(group_of(group.id).hosts) do
      members[host] = number
    end
    local named = A.members ~= '' and cjson.decode(A.members) or { consumers = {}, hosts = {} }
    for _, claim in ipairs(read_other_members(named.consumers)) do
      for host in pairs(hosts_of_claim(claim)) do
        members[host] = (members[host] or 0) + 1
      end
    end
    for _, host in ipairs(named.hosts) do
      members[host] = math.max(members[host] or 0, 1)
    end
  end
  return members
end

-- Returns the number of the group's members on a host, including planned claims.
local function members_on(host)
  return (members_by_host()[host] or 0) + (member_deltas[host] or 0)
end

local function are_members_only_on(host, hosts)
  for other in pairs(hosts) do
    if other ~= host and members_on(other) > 0 then
      return false
    end
  end
  return true
end

-- Returns whether the group has left this partition, so that the batch's claims are refused. Claims of alternates have
-- no generation (''); they are accepted if the group has members here or has returned.
local function has_left()
  if A.group_generation == '' then
    return left ~= '' and not string.find(left, ' ', 1, true) and not next(group_of(group.id).hosts)
  end
  return A.group_generation <= left
end

-- Marks a departed group as returned, after a claim under a later generation.
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
    return host == source_host or members_on(host) < group.max_per_host
  elseif group.policy ~= 'affinity' or members_on(host) > 0 then
    return true -- soft policies are not enforced here
  end
  return are_members_only_on(host, members_by_host()) and are_members_only_on(host, member_deltas)
end

-- Returns whether an affinity group is split over several hosts, but audits may show that it is on one.
local function may_be_rejoined()
  local hosts = group and group.policy == 'affinity' and group_of(group.id).hosts or {}
  return next(hosts) and next(hosts, next(hosts)) and (awaits_any() or has_any_unverified())
end
