-- SPDX-License-Identifier: Apache-2.0
-- Leases due requests: their due time moves to the end of the lease, so requests of a dead holder become due again.
-- Projects take turns: next is the longest due request of the project with the lowest turn number. A turn costs one,
-- plus one for each further record written with the first. A project that comes back begins at the turn being served.
-- At equal turns, begun requests come first, because they make room.
-- New requests wait while the allowed number of instances is scheduled or built, unless their project has less than its
-- share. Projects with such or new instances have equal shares.
-- ARGV: unique token of the new leases, lease in ms, limit of requests, limit of their instances with a next step,
--       limit of all instances that are scheduled or built
-- Returns: {request key, 1 if the previous holder never released it, number of its instances with a next step, ...}
--@ args token lease_ms limit max_instances max_building
--@ include _due
--@ include _heap
--@ keys turns leases woken pending

local PARTS = 1000 -- limit of parts per call, of begun and of new requests each

local served = tonumber(meta[4]) or 0
local turns = {} -- {project: turn}
local max_building, max_instances = tonumber(A.max_building), tonumber(A.max_instances)
local all_begun = begun_instances(ALL_PROJECTS)
local sharers = redis.call('HLEN', K.begun) - math.min(1, all_begun) + redis.call('ZCOUNT', K.shares, 0, 0)
local share = max_building / math.max(1, sharers)

-- Returns a heap of the projects' parts with this name suffix.
local function order_parts(wakes, projects, suffix)
  if #projects == 0 then
    return {}
  end
  local names, parts = {}, {}
  for i, project in ipairs(projects) do
    names[i] = project .. suffix
  end
  local times = redis.call('ZMSCORE', wakes, unpack(names))
  local numbers = redis.call('ZMSCORE', K.turns, unpack(projects))
  for i, project in ipairs(projects) do
    turns[project] = turns[project] or math.max(tonumber(numbers[i] or 0), served)
    parts[i] = { turn = turns[project], at = tonumber(times[i]), name = names[i], project = project }
  end
  return heapify(parts)
end

-- Returns a heap of the parts whose new requests may begin.
local function order_new_parts()
  local projects
  if all_begun >= max_building then
    local below = string.format('(%.17g', share)
    projects = redis.call('ZRANGEBYSCORE', K.shares, '-inf', below, 'LIMIT', 0, PARTS)
  else
    projects = redis.call('ZRANGE', K.new_wakes, 0, PARTS - 1)
    for i, part in ipairs(projects) do
      projects[i] = string.sub(part, 1, -1 - #NEW)
    end
  end
  return order_parts(K.new_wakes, projects, NEW)
end

local begun_parts =
  order_parts(K.wakes, redis.call('ZRANGEBYSCORE', K.wakes, '-inf', whole(now), 'LIMIT', 0, PARTS), '')
local new_parts = order_new_parts()
if not begun_parts[1] and redis.call('ZCARD', K.new_wakes) == 0 then
  redis.call('DEL', K.turns)
end

-- Returns the heap's first part, after updating turns of projects served from the other heap.
local function first_part(heap)
  while heap[1] and heap[1].turn < turns[heap[1].project] do
    heap[1].turn = turns[heap[1].project]
    sift_down(heap, 1)
  end
  return heap[1]
end

-- Returns the heap of the next part to serve, or nil.
local function next_heap()
  local begun, new = first_part(begun_parts), first_part(new_parts)
  if begun and (not new or begun.turn <= new.turn) then
    return begun_parts
  end
  return new and new_parts
end

-- Keeps the heap's first part if it has another request to serve; removes it otherwise.
local function advance_part(heap)
  local part = heap[1]
  local _, at = first_due(part.name)
  local is_held = heap == new_parts and all_begun >= max_building and begun_instances(part.project) >= share
  if at and at <= now and not is_held then
    part.turn, part.at = turns[part.project], at
    sift_down(heap, 1)
  else
    remove_first(heap)
  end
end

local function begin(request)
  local count, at = new_instances(request)
  local had_room = all_begun < max_building
  all_begun = all_begun + count
  count_begun(project_of(request), count)
  set_new(request, 0, at)
  return had_room and all_begun >= max_building
end

local answer = {}
local instances = 0
while #answer < 3 * tonumber(A.limit) do
  local heap = next_heap()
  if not heap then
    break
  end
  local part = heap[1]
  local request = first_due(part.name)
  local steps = redis.call('ZLEXCOUNT', K.pending, '[' .. request .. '|', '(' .. request .. '}')
  if heap == begun_parts then
    steps = steps - new_instances(request)
  end
  if instances + steps > max_instances then
    break
  end
  served = part.turn
  turns[part.project] = served + 1
  redis.call('ZADD', K.turns, whole(served + 1), part.project)
  local is_full = heap == new_parts and begin(request)
  local is_leased = redis.call('HEXISTS', K.leases, request)
  if heap == new_parts and is_leased == 1 then
    redis.call('SADD', K.woken, request) -- the holder is deleting instances; the others are due afterwards
  else
    instances = instances + steps
    answer[#answer + 1] = request
    answer[#answer + 1] = is_leased
    answer[#answer + 1] = steps
    redis.call('HSET', K.leases, request, A.token)
    set_due(request, now + tonumber(A.lease_ms))
    redis.call('SREM', K.woken, request)
  end
  if is_full then
    new_parts = order_new_parts()
  else
    advance_part(heap)
  end
end
redis.call('HSET', K.meta, 'turn', whole(served))
-- A project without a number begins at `served`, so lower numbers need not be stored.
redis.call('ZREMRANGEBYSCORE', K.turns, '-inf', whole(served))
return answer
