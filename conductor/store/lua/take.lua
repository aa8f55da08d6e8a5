-- SPDX-License-Identifier: Apache-2.0
-- Lease due requests: their due time moves to the end of the lease, so the requests of a dead holder become due again.
-- Projects take turns: next is the request that is longest due of the project with the lowest turn number. A turn costs
-- one, and one for each further record that is then written together with the first. A project that comes back begins
-- at the turn that is served now. New requests wait while as many instances as allowed are scheduled or built, unless
-- their project has less than its equal share of them.
-- ARGV: token of the new leases, which no other call has used, lease in ms, limit of requests, limit of their instances
--       with a step to take, limit of all instances that are scheduled or built
-- Returns: {request key, 1 if the previous holder never released it, number of its instances with a step to take, ...}
--@ args token lease_ms limit max_instances max_building
--@ include _due
--@ keys turns leases woken pending counts waiting building

local PARTS = 1000 -- of the queue that one call considers, and with new requests: those whose work is due longest

-- Conductors of earlier releases have recorded requests without projects.
if redis.call('ZCARD', K.queues) ~= redis.call('ZCARD', K.due) then
  redis.call('DEL', K.queues, K.wakes, K.new_wakes)
  local rows = redis.call('ZRANGE', K.due, 0, -1, 'WITHSCORES')
  for i = 1, #rows, 2 do
    set_due(rows[i], tonumber(rows[i + 1]))
  end
end

local served = tonumber(meta[4]) or 0
local queues = {} -- at the same turn those with new requests are last: what has begun makes room
local projects, turns, ended = {}, {}, {} -- by queue, by project, by queue
for _, wakes in ipairs({K.wakes, K.new_wakes}) do
  for _, queue in ipairs(redis.call('ZRANGEBYSCORE', wakes, '-inf', whole(now), 'LIMIT', 0, PARTS)) do
    local project = wakes == K.wakes and queue or string.sub(queue, 1, -1 - #NEW)
    queues[#queues + 1] = queue
    projects[queue] = project
    turns[project] = math.max(tonumber(redis.call('ZSCORE', K.turns, project)) or 0, served)
  end
end

local function next_queue()
  local best
  for _, queue in ipairs(queues) do
    if not ended[queue] and (not best or turns[projects[queue]] < turns[projects[best]]) then
      best = queue
    end
  end
  return best
end

local function number(hash, field)
  return tonumber(redis.call('HGET', hash, field)) or 0
end

-- Returns whether the project may begin with a new request. What is new is SCHEDULING, but nobody schedules it yet.
local function may_begin(project)
  local limit = tonumber(A.max_building)
  local all = number(K.counts, 'SCHEDULING') + number(K.counts, 'BUILDING') - number(K.new, ALL_PROJECTS)
  if all < limit then
    return true
  end
  local own = number(K.waiting, project) + number(K.building, project) - number(K.new, project)
  return own < limit / (redis.call('HLEN', K.building) + 1 - redis.call('HEXISTS', K.building, project))
end

local answer = {}
local instances = 0
while #answer < 3 * tonumber(A.limit) do
  local queue = next_queue()
  if not queue then
    break
  end
  local project = projects[queue]
  local request, at = first_due(queue)
  if not at or at > now or queue ~= project and not may_begin(project) then
    ended[queue] = true
  else
    local steps = redis.call('ZLEXCOUNT', K.pending, '[' .. request .. '|', '(' .. request .. '}')
    if instances + steps > tonumber(A.max_instances) then
      break
    end
    instances = instances + steps
    answer[#answer + 1] = request
    answer[#answer + 1] = redis.call('HEXISTS', K.leases, request)
    answer[#answer + 1] = steps
    redis.call('HSET', K.leases, request, A.token)
    begin(request)
    set_due(request, now + tonumber(A.lease_ms))
    redis.call('SREM', K.woken, request)
    served = turns[project]
    turns[project] = served + 1
    redis.call('ZADD', K.turns, whole(turns[project]), project)
  end
end
redis.call('HSET', K.meta, 'turn', whole(served))
-- A project without a number begins at `served`: lower ones need not be stored, and without waiting work none.
redis.call('ZREMRANGEBYSCORE', K.turns, '-inf', #queues == 0 and '+inf' or whole(served))
return answer
