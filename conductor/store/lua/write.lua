-- SPDX-License-Identifier: Apache-2.0
-- Writes instances, each by compare-and-set on its version, under a renewed lease or without one.
-- ARGV: request key ('' = without a lease), lease token, lease in ms, retention in ms, '1' to wake the requests, new
--       version of the records, limits of projects (one "project name=amount name=amount ..." per line), then ten
--       arguments per instance: uuid, version, status, step, wake in ms, document, migration uuid ('' = none),
--       migration document, '1' if the migration has ended, own quota amounts ('' = the request's)
-- Returns: {} if the lease is lost; {'quota', project, name, amount in use, added amount} if a limit is too low for all
--          records together; else {now, last number assigned, uuid skipped for its version, ...}
--@ args request token lease_ms retention_ms wake new_version limits
--@ include _usage
--@ keys instances listed pending leases woken counts purge turns waiting
--@ keys migrations listed_migrations ended_migrations own_amounts

local leased_request = A.request
if leased_request ~= '' and not holds(K.leases, leased_request, A.token) then
  return {}
end
local ROW = 10 -- arguments of an instance
local has_own = redis.call('HLEN', K.own_amounts) > 0

local function own_amounts(uuid)
  return has_own and redis.call('HGET', K.own_amounts, uuid) or ''
end

-- Returns the quota amounts, by name, by which the record in row i exceeds the stored one.
local function difference(i, old)
  local changes, own, new_own = {}, own_amounts(ARGV[i]), ARGV[i + 9]
  local amounts = redis.call('HGET', K.amounts, old.request)
  add_amounts(changes, own == '' and amounts or own, -live_count(old.status, old.step))
  add_amounts(changes, new_own == '' and amounts or new_own, live_count(ARGV[i + 2], ARGV[i + 3]))
  return changes
end

-- Returns the increases of quota amounts by project and name.
local function additions()
  local sums = {}
  for i = REST, #ARGV, ROW do
    local value = redis.call('HGET', K.instances, ARGV[i])
    local old = value and unpack_header(value)
    if old and old.version == ARGV[i + 1] then
      local project = project_of(old.request)
      sums[project] = sums[project] or {}
      for name, change in pairs(difference(i, old)) do
        sums[project][name] = (sums[project][name] or 0) + math.max(0, change)
      end
    end
  end
  return sums
end

if A.limits ~= '' then
  local sums = additions()
  for project, limits in string.gmatch(A.limits, '(%x+) ([^\n]*)') do
    local usage = parse_amounts(redis.call('HGET', K.usage, project))
    for name, limit in pairs(parse_amounts(limits)) do
      local added = sums[project] and sums[project][name] or 0
      if added > 0 and (usage[name] or 0) + added > limit then
        return {'quota', project, name, whole(usage[name] or 0), whole(added)}
      end
    end
  end
end
-- Each write takes a number, so that a store that lost a write is behind.
local answer = {whole(now), redis.call('HINCRBY', K.meta, 'sequence', 1)}
local touched = {}
local changes = {} -- {request: changes of its numbers of live, new and begun instances}

local function begun_count(status, is_new)
  return (status == 'SCHEDULING' or status == 'BUILDING') and not is_new and 1 or 0
end

local function note_change(old, status, step, is_resized)
  local change = changes[old.request]
  if not change then
    local count, at = new_instances(old.request)
    change = { live = 0, new = 0, begun = 0, was_new = count, at = at }
    changes[old.request] = change
  end
  if not is_resized then
    change.live = change.live + live_count(status, step) - live_count(old.status, old.step)
  end
  local was_new = change.was_new > 0 and old.step == NEW_STEP
  local is_new = change.was_new > 0 and step == NEW_STEP
  change.new = change.new + (is_new and 1 or 0) - (was_new and 1 or 0)
  change.begun = change.begun + begun_count(status, is_new) - begun_count(old.status, was_new)
end

-- Charges the project of `request` as described in take.lua.
local function charge_turn(request, records)
  local project = project_of(request)
  local turn = tonumber(redis.call('ZSCORE', K.turns, project)) or 0
  redis.call('ZADD', K.turns, whole(math.max(turn, tonumber(meta[4]) or 0) + math.max(0, records - 1)), project)
end

local function update_pending(uuid, old, step)
  local member = old.request .. '|' .. uuid
  if step == 'done' then
    redis.call('ZREM', K.pending, member)
  elseif old.step == 'done' then
    redis.call('ZADD', K.pending, 0, member)
  end
end

local function update_waiting(old, status)
  local change = (status == 'SCHEDULING' and 1 or 0) - (old.status == 'SCHEDULING' and 1 or 0)
  local project = project_of(old.request)
  if change ~= 0 and redis.call('HINCRBY', K.waiting, project, change) <= 0 then
    redis.call('HDEL', K.waiting, project)
  end
end

local function update_status(uuid, old, status)
  if old.status == status then
    return
  end
  redis.call('HINCRBY', K.counts, old.status, -1)
  redis.call('HINCRBY', K.counts, status, 1)
  update_waiting(old, status)
  if status == 'DELETED' then
    redis.call('ZREM', K.listed, uuid)
    redis.call('ZADD', K.purge, whole(now + tonumber(A.retention_ms)), uuid)
  end
end

-- A migration keeps number and time of its first write; an unchanged document is not written again.
local function write_migration(uuid, body, has_ended)
  local old = redis.call('HGET', K.migrations, uuid)
  local sequence, created, old_body
  if old then
    sequence, created, old_body = string.match(old, '^(%d+) (%d+) %d+\n(.*)$')
  else
    sequence, created = whole(redis.call('HINCRBY', K.meta, 'sequence', 1)), whole(now)
    redis.call('ZADD', K.listed_migrations, sequence, uuid)
  end
  if old_body ~= body then
    redis.call('HSET', K.migrations, uuid, table.concat({sequence, created, whole(now)}, ' ') .. '\n' .. body)
  end
  if has_ended then
    redis.call('ZADD', K.ended_migrations, 'NX', whole(now + tonumber(A.retention_ms)), uuid)
  end
end

-- Counts a resized instance by its own amounts; returns whether the record in row i is or was one.
local function count_resized(i, old)
  local uuid, new_own = ARGV[i], ARGV[i + 9]
  if new_own == '' and own_amounts(uuid) == '' then
    return false
  end
  add_usage(project_of(old.request), difference(i, old))
  if new_own == '' then
    redis.call('HDEL', K.own_amounts, uuid)
  else
    redis.call('HSET', K.own_amounts, uuid, new_own)
  end
  return true
end

for i = REST, #ARGV, ROW do
  local uuid, version, status, step = ARGV[i], ARGV[i + 1], ARGV[i + 2], ARGV[i + 3]
  local value = redis.call('HGET', K.instances, uuid)
  local old = value and unpack_header(value)
  if not old or old.version ~= version then
    answer[#answer + 1] = uuid
  else
    update_pending(uuid, old, step)
    update_status(uuid, old, status)
    note_change(old, status, step, count_resized(i, old))
    touched[old.request] = true
    old.status, old.step, old.wake, old.version = status, step, tonumber(ARGV[i + 4]), A.new_version
    old.updated = whole(now)
    redis.call('HSET', K.instances, uuid, pack_record(old, ARGV[i + 5]))
    if ARGV[i + 6] ~= '' then
      write_migration(ARGV[i + 6], ARGV[i + 7], ARGV[i + 8] == '1')
    end
  end
end

for request, change in pairs(changes) do
  count_instances(request, change.live, 0)
  count_begun(project_of(request), change.begun)
  if change.new ~= 0 then
    set_new(request, change.was_new + change.new, change.at)
  end
end
if leased_request ~= '' then
  set_due(leased_request, now + tonumber(A.lease_ms))
  charge_turn(leased_request, (#ARGV - REST + 1) / ROW)
elseif A.wake == '1' then
  for request in pairs(touched) do
    if redis.call('HEXISTS', K.leases, request) == 1 then
      redis.call('SADD', K.woken, request)
    else
      local due = tonumber(redis.call('ZSCORE', K.due, request))
      if not due or due > now then
        set_due(request, now)
      end
    end
  end
end
return answer
