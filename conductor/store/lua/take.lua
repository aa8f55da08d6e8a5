-- SPDX-License-Identifier: Apache-2.0
-- Lease due requests: their due time moves to the end of the lease, so the requests of a dead holder become due again.
-- Projects take turns: next is the request that is longest due of the project with the lowest turn number. A turn costs
-- one, and one for each further record that is then written together with the first. A project that comes back begins at the turn that is served now.
-- ARGV: token of the new leases, which no other call has used, lease in ms, limit of requests, limit of their instances
--       with a step to take
-- Returns: {request key, 1 if the previous holder never released it, number of its instances with a step to take, ...}
--@ args token lease_ms limit max_instances
--@ include _due
--@ keys turns leases woken pending

local PROJECTS = 1000 -- that one call considers: those whose work is due longest

-- Conductors of earlier releases have recorded requests without projects.
if redis.call('ZCARD', K.queues) ~= redis.call('ZCARD', K.due) then
  redis.call('DEL', K.queues, K.wakes)
  local rows = redis.call('ZRANGE', K.due, 0, -1, 'WITHSCORES')
  for i = 1, #rows, 2 do
    set_due(rows[i], tonumber(rows[i + 1]))
  end
end

local served = tonumber(meta[4]) or 0
local projects = redis.call('ZRANGEBYSCORE', K.wakes, '-inf', whole(now), 'LIMIT', 0, PROJECTS)
local turns = {}
for _, queue in ipairs(projects) do
  turns[queue] = math.max(tonumber(redis.call('ZSCORE', K.turns, queue)) or 0, served)
end

local function next_project()
  local best
  for _, queue in ipairs(projects) do
    if turns[queue] and (not best or turns[queue] < turns[best]) then
      best = queue
    end
  end
  return best
end

local answer = {}
local instances = 0
while #answer < 3 * tonumber(A.limit) do
  local queue = next_project()
  if not queue then
    break
  end
  local request, at = first_due(queue)
  if not at or at > now then
    turns[queue] = nil
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
    set_due(request, now + tonumber(A.lease_ms))
    redis.call('SREM', K.woken, request)
    served = turns[queue]
    turns[queue] = served + 1
    redis.call('ZADD', K.turns, whole(turns[queue]), queue)
  end
end
redis.call('HSET', K.meta, 'turn', whole(served))
-- A project without a number begins at `served`: lower ones need not be stored, and without waiting work none.
redis.call('ZREMRANGEBYSCORE', K.turns, '-inf', #projects == 0 and '+inf' or whole(served))
return answer
