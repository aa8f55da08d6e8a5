-- SPDX-License-Identifier: Apache-2.0
-- Queue of due work. Each project has two parts: requests that have begun, and new requests, which no conductor has
-- taken yet. A request's key begins with the digest of its project; keys without a digest belong to project ''.
-- `queues` orders requests by part and time. `wakes`, and `new_wakes` for new requests, have the first due time of each
-- part.
-- Instances of a new request stay new until they leave the first step. If one is deleted meanwhile, its request is also
-- due in the part of begun requests; the others stay new.
--@ include _header
--@ keys due queues wakes new_wakes new begun shares

local NEW = '*' -- suffix of the name of a part with new requests
local NEW_STEP = 'select' -- step of new instances
local ALL_PROJECTS = 'all' -- field of `begun` with the sum over all projects
local LATEST = 9999999999999 -- times in the queue have 13 digits

local function project_of(request)
  local project = string.match(request, '^(%x+)%-')
  return project and #project == 16 and project or ''
end

local function queue_member(part, at, request)
  return string.format('%s|%013.0f|%s', part, at, request)
end

-- Returns the part's first due request and its time; nil if the part is empty.
local function first_due(part)
  local member = redis.call('ZRANGEBYLEX', K.queues, '[' .. part .. '|', '(' .. part .. '}', 'LIMIT', 0, 1)[1]
  if member then
    return string.sub(member, #part + 16), tonumber(string.sub(member, #part + 2, #part + 14))
  end
end

-- Updates the part's first due time; returns whether the part has requests.
local function update_wake(wakes, part)
  local _, first = first_due(part)
  if first then
    redis.call('ZADD', wakes, whole(first), part)
  else
    redis.call('ZREM', wakes, part)
  end
  return first ~= nil
end

-- Sets the due time of a begun request; nil means never.
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

-- Returns the number of the request's new instances and the time since when it is due; 0, 0 if it has begun.
local function new_instances(request)
  local count, at = string.match(redis.call('HGET', K.new, request) or '', '^(%d+) (%d+)$')
  return tonumber(count or 0), tonumber(at or 0)
end

-- Returns the number of begun instances of a project or of ALL_PROJECTS.
local function begun_instances(project)
  return tonumber(redis.call('HGET', K.begun, project)) or 0
end

-- Sets the number of the request's new instances, due since `at`.
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

-- Adds to the number of the project's begun instances.
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
