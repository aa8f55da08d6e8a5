-- SPDX-License-Identifier: Apache-2.0
-- The queue of due work, in which each project has its own part. A request's key begins with the digest of its project;
-- the requests of earlier releases, whose keys have none, share a part.
-- New requests, which no conductor has taken yet, are in a part of their own. `queues` orders the requests of `due` by
-- part and time; `wakes`, and `new_wakes` for parts with new requests, have the first time of each part.
--@ include _header
--@ keys due queues wakes new_wakes new

local NEW = '*' -- ends the name of a part with new requests
local ALL_PROJECTS = 'all' -- the field of `new` with the sum of all projects

local function project_of(request)
  local project = string.match(request, '^(%x+)%-')
  return project and #project == 16 and project or ''
end

local function queue_of(request)
  return project_of(request) .. (redis.call('HEXISTS', K.new, request) == 1 and NEW or '')
end

local function queue_member(queue, at, request)
  return string.format('%s|%013.0f|%s', queue, at, request)
end

-- Returns the request of the part that is due first, and when; nil if none of its requests is due at any time.
local function first_due(queue)
  local member = redis.call('ZRANGEBYLEX', K.queues, '[' .. queue .. '|', '(' .. queue .. '}', 'LIMIT', 0, 1)[1]
  if member then
    return string.sub(member, #queue + 16), tonumber(string.sub(member, #queue + 2, #queue + 14))
  end
end

-- Makes the request due at that time, or at none (nil).
local function set_due(request, at)
  local queue = queue_of(request)
  local old = redis.call('ZSCORE', K.due, request)
  if old then
    redis.call('ZREM', K.queues, queue_member(queue, tonumber(old), request))
  end
  if at then
    redis.call('ZADD', K.due, whole(at), request)
    redis.call('ZADD', K.queues, 0, queue_member(queue, at, request))
  else
    redis.call('ZREM', K.due, request)
  end
  local _, first = first_due(queue)
  local wakes = queue == project_of(request) and K.wakes or K.new_wakes
  if first then
    redis.call('ZADD', wakes, whole(first), queue)
  else
    redis.call('ZREM', wakes, queue)
  end
end

-- Moves a new request to the others of its project; it stays due when it was.
local function begin(request)
  local count = redis.call('HGET', K.new, request)
  if not count then
    return
  end
  local at = redis.call('ZSCORE', K.due, request)
  set_due(request)
  redis.call('HDEL', K.new, request)
  for _, field in ipairs({project_of(request), ALL_PROJECTS}) do
    if redis.call('HINCRBY', K.new, field, -count) <= 0 then
      redis.call('HDEL', K.new, field)
    end
  end
  if at then
    set_due(request, tonumber(at))
  end
end
