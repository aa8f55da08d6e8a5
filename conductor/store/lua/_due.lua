-- SPDX-License-Identifier: Apache-2.0
-- The queue of due work, in which each project has two parts: one with requests that have begun, and one with new
-- requests, which no conductor has taken yet. A request's key begins with the digest of its project; keys without one
-- share the parts of project ''.
-- `queues` orders requests by part and time; `wakes`, and `new_wakes` for new requests, have the first time of a part.
-- The instances of a new request are new until they have another step than the first. One that is deleted meanwhile
-- puts its request into the other part too: it is due there for that instance, and the rest stays new.
--@ include _header
--@ keys due queues wakes new_wakes new begun shares

local NEW = '*' -- ends the name of a part with new requests
local NEW_STEP = 'select' -- of instances that are new
local ALL_PROJECTS = 'all' -- the field of `begun` with the sum of all projects
local LATEST = 9999999999999 -- times in the queue have 13 digits

local function project_of(request)
  local project = string.match(request, '^(%x+)%-')
  return project and #project == 16 and project or ''
end

local function queue_member(part, at, request)
  return string.format('%s|%013.0f|%s', part, at, request)
end

-- Returns the request of the part that is due first, and when; nil if none of its requests is due at any time.
local function first_due(part)
  local member = redis.call('ZRANGEBYLEX', K.queues, '[' .. part .. '|', '(' .. part .. '}', 'LIMIT', 0, 1)[1]
  if member then
    return string.sub(member, #part + 16), tonumber(string.sub(member, #part + 2, #part + 14))
  end
end

-- Sets when the first request of the part is due; returns whether it has any.
local function update_wake(wakes, part)
  local _, first = first_due(part)
  if first then
    redis.call('ZADD', wakes, whole(first), part)
  else
    redis.call('ZREM', wakes, part)
  end
  return first ~= nil
end

-- Makes a request that has begun due at that time, or at none (nil).
local function set_due(request, at)
  local part = project_of(request)
  local old = redis.call('ZSCORE', K.due, request)
  if old then
    redis.call('ZREM', K.queues, queue_member(part, tonumber(old), request))
  end
  if at then
    at = math.min(at, LATEST)
    redis.call('ZADD', K.due, whole(at), request)
    redis.call('ZADD', K.queues, 0, queue_member(part, at, request))
  else
    redis.call('ZREM', K.due, request)
  end
  update_wake(K.wakes, part)
end

-- Returns the number of the request's new instances, 0 if it has begun, and since when it is due.
local function new_instances(request)
  local count, at = string.match(redis.call('HGET', K.new, request) or '', '^(%d+) (%d+)$')
  return tonumber(count or 0), tonumber(at or 0)
end

-- Returns the number of instances that have begun, of a project or of all, and have not ended.
local function begun_instances(project)
  return tonumber(redis.call('HGET', K.begun, project)) or 0
end

-- Sets the number of the request's new instances; it is due since that time.
local function set_new(request, count, at)
  local project = project_of(request)
  local part = project .. NEW
  local member = queue_member(part, at, request)
  if count > 0 then
    redis.call('HSET', K.new, request, whole(count) .. ' ' .. whole(at))
    redis.call('ZADD', K.queues, 0, member)
  else
    redis.call('HDEL', K.new, request)
    redis.call('ZREM', K.queues, member)
  end
  if update_wake(K.new_wakes, part) then
    redis.call('ZADD', K.shares, begun_instances(project), project)
  else
    redis.call('ZREM', K.shares, project)
  end
end

-- Counts that many instances of the project more that have begun.
local function count_begun(project, change)
  if change == 0 then
    return
  end
  for _, field in ipairs({project, ALL_PROJECTS}) do
    if redis.call('HINCRBY', K.begun, field, change) <= 0 then
      redis.call('HDEL', K.begun, field)
    end
  end
  redis.call('ZADD', K.shares, 'XX', begun_instances(project), project)
end
