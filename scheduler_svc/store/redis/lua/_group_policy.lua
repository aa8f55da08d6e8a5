-- SPDX-License-Identifier: Apache-2.0
-- Policy of the batch's server group. Reads A.group, A.group_generation and A.members of the batch. Included after
-- _members and _candidates.
local group = A.group ~= '' and cjson.decode(A.group) or nil
local member_deltas = {} -- what the batch plans to add to the group's members
local source_host = nil -- the host on which the instance that is judged counts already: it leaves that, or stays there
local batch_consumers, members = {}, nil -- names of the intents' consumers; numbers of the group's members by host
-- The generation of the group's home up to which this partition was left.
local left = group and redis.call('HGET', K.pins, 'left:' .. group.id) or ''

-- Returns the consumers of a list whose claims do not name the group, with these claims; not those of the batch.
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

-- Returns the number of the group's members on each host before the batch: of its claims, and of what A.members names.
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

-- Returns the number of the group's members on a host, with those that the batch plans.
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
    return host == source_host or members_on(host) < group.max_per_host
  elseif group.policy ~= 'affinity' or members_on(host) > 0 then
    return true -- soft policies are not enforced here
  end
  return are_members_only_on(host, members_by_host()) and are_members_only_on(host, member_deltas)
end

-- Returns whether an affinity group has members on several hosts, of which audits, records or operators may end some.
local function may_be_rejoined()
  local hosts = group and group.policy == 'affinity' and group_of(group.id).hosts or {}
  return next(hosts) and next(hosts, next(hosts)) and (awaits_any() or has_any_unverified())
end
