-- SPDX-License-Identifier: Apache-2.0
-- What a change of an aggregate's document means to claims; the rule of scheduler_svc/store/aggregates.py.
--@ keys reports capacity eligible
local LOT = 1000 -- names in one question

local function members_of(document)
  local found = {}
  for _, name in ipairs(type(document.hosts) == 'table' and document.hosts or {}) do
    found[name] = true
  end
  return found
end

local function says_the_same(one, other)
  one, other = type(one) == 'table' and one or {}, type(other) == 'table' and other or {}
  for key, value in pairs(one) do
    if other[key] ~= value then
      return false
    end
  end
  for key in pairs(other) do
    if one[key] == nil then
      return false
    end
  end
  return true
end

-- Names that join or leave; where something else is said of the members, the names of all.
local function touched_names(before, after)
  local was, will_be = members_of(before), members_of(after)
  local all, names = not says_the_same(before.metadata, after.metadata), {}
  for name in pairs(was) do
    if all or not will_be[name] then
      names[#names + 1] = name
    end
  end
  for name in pairs(will_be) do
    if not was[name] then
      names[#names + 1] = name
    end
  end
  return names
end

-- Have what was decided on an aggregate's members before this script decided anew. Names may be nobody's yet.
local function touch_members(before, after)
  local names = touched_names(cjson.decode(before), cjson.decode(after))
  for first = 1, #names, LOT do
    local last, fields = math.min(#names, first + LOT - 1), {}
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
