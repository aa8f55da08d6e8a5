-- SPDX-License-Identifier: Apache-2.0
-- The queue of due work, in which each project has its own part. A request's key begins with the digest of its project;
-- the requests of earlier releases, whose keys have none, share a part.
-- `queues` orders the requests of `due` by project and time, `wakes` has the first time of each project.
--@ include _header
--@ keys due queues wakes

local function queue_of(request)
  local queue = string.match(request, '^(%x+)%-')
  return queue and #queue == 16 and queue or ''
end

local function queue_member(queue, at, request)
  return string.format('%s|%013.0f|%s', queue, at, request)
end

-- Returns the request of the project that is due first, and when; nil if none of its requests is due at any time.
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
  if first then
    redis.call('ZADD', K.wakes, whole(first), queue)
  else
    redis.call('ZREM', K.wakes, queue)
  end
end
