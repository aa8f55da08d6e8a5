-- SPDX-License-Identifier: Apache-2.0
-- Quota usage of projects, as "name=amount name=amount ...": `amounts` per instance of a request, `own_amounts` of a
-- resized instance, `usage` the sums of a project. They change in one script with the records, so that a loss affects
-- all of them.
--@ include _due
--@ keys amounts usage

local function parse_amounts(text)
  local amounts = {}
  for name, amount in string.gmatch(text or '', '(%S+)=(%d+)') do
    amounts[name] = tonumber(amount)
  end
  return amounts
end

-- Adds `changes`, by name, to the usage of the project.
local function add_usage(project, changes)
  local usage = parse_amounts(redis.call('HGET', K.usage, project))
  for name, change in pairs(changes) do
    usage[name] = (usage[name] or 0) + change
  end
  local words = {}
  for name, amount in pairs(usage) do
    if amount > 0 then
      words[#words + 1] = name .. '=' .. whole(amount)
    end
  end
  if words[1] then
    redis.call('HSET', K.usage, project, table.concat(words, ' '))
  else
    redis.call('HDEL', K.usage, project)
  end
end

-- Adds `times` the amounts of `text` to `changes`.
local function add_amounts(changes, text, times)
  for name, amount in pairs(parse_amounts(text)) do
    changes[name] = (changes[name] or 0) + times * amount
  end
end

-- Adds numbers of live and recorded instances of a request to its project's usage.
local function count_instances(request, live, recorded)
  if live == 0 and recorded == 0 then
    return
  end
  local changes = { recorded_instances = recorded }
  add_amounts(changes, redis.call('HGET', K.amounts, request), live)
  add_usage(project_of(request), changes)
end

-- Returns 1 if a record in this state uses quota, else 0.
local function live_count(status, step)
  local is_without_claim = (status == 'ERROR' or status == 'SHELVED_OFFLOADED') and step == 'done'
  return (status == 'DELETED' or is_without_claim) and 0 or 1
end
