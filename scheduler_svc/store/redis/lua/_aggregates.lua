-- SPDX-License-Identifier: Apache-2.0
-- Effect of aggregate changes on claims, as in scheduler_svc/store/aggregates.py.
--@ keys reports capacity eligible
local BATCH = 1000 -- names in one command

local function members_of(document)
  local members = {}
  for _, name in ipairs(type(document.hosts) == 'table' and document.hosts or {}) do
    members[name] = true
  end
  return members
end

local function is_same_metadata(first, second)
  first, second = type(first) == 'table' and first or {}, type(second) == 'table' and second or {}
  for key, value in pairs(first) do
    if second[key] ~= value then
      return false
    end
  end
  for key in pairs(second) do
    if first[key] == nil then
      return false
    end
  end
  return true
end

-- Returns the names that join or leave the aggregate; all members where its metadata changed.
local function affected_names(before, after)
  local old_members, new_members = members_of(before), members_of(after)
  local all, names = not is_same_metadata(before.metadata, after.metadata), {}
  for name in pairs(old_members) do
    if all or not new_members[name] then
      names[#names + 1] = name
    end
  end
  for name in pairs(new_members) do
    if not old_members[name] then
      names[#names + 1] = name
    end
  end
  return names
end

-- Makes earlier decisions on the affected members stale. Names without a host or provider are skipped.
local function make_members_stale(before, after)
  local names = affected_names(cjson.decode(before), cjson.decode(after))
  for first = 1, #names, BATCH do
    local last, fields = math.min(#names, first + BATCH - 1), {}
    local hosts = redis.call('HMGET', K.reports, unpack(names, first, last))
    local providers = redis.call('HMGET', K.capacity, unpack(names, first, last))
    for i = 1, last - first + 1 do
      if hosts[i] or providers[i] then
        fields[#fields + 1], fields[#fields + 2] = names[first + i - 1], int(position)
      end
    end
    if #fields > 0 then
      redis.call('HSET', K.eligible, unpack(fields))
    end
  end
end
