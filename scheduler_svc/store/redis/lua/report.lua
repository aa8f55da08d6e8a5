-- SPDX-License-Identifier: Apache-2.0
-- Writes the plan of a service host's report, unless a report or an API change in the host's trees came first.
-- ARGV: log length, service host, mode ('look' | 'beat' | 'apply' | 'register'), document of a new service as JSON,
--       last report as read or '', this report, 1 if heartbeats decide liveness else 0, uuid of the agent's state
--       folder or '', 1 if a store has served that folder else 0, reason why the agent takes no new guests or '', 1 if
--       the agent registers again after it was superseded else 0, ms of the last such return or '', quiet ms that end
--       a duplicate identity, position of the last API change in the host's trees as read or '', number of changed and
--       removed nodes, number of child links, then the rows of both and the names on which decisions become stale; see
--       _plan
-- Returns: done 0|1 (0: a report or an API change came first), epoch, position, audited in this epoch 0|1, position of
--          the registration or 0; or if the agent may not register: obstacle as in
--          scheduler_svc/store/registrations.py, uuid of the state folder that owns the host's name or '', number of
--          claims
--@ args log_length host mode service read_report report beats_decide host_uuid served refusal returning returned_ms quiet_ms api_changed changes links
--@ keys reports api_changed provider_names awaited
--@ include _partition
--@ include _beat
--@ include _plan
--@ include _unnamed
local host, mode = A.host, A.mode
local applies = mode == 'apply' or mode == 'register'

-- Returns whether an API-owned provider has the name of a changed node.
local function is_name_taken()
  if redis.call('HLEN', K.provider_names) == 0 then
    return false
  end
  for i = REST, REST + 4 * (tonumber(A.changes) - 1), 4 do
    if ARGV[i + 1] ~= '' and redis.call('HEXISTS', K.provider_names, ARGV[i]) == 1 then
      return true
    end
  end
  return false
end

if applies and ((redis.call('HGET', K.reports, host) or '') ~= A.read_report
    or (redis.call('HGET', K.api_changed, host) or '') ~= A.api_changed or is_name_taken()) then
  return { 0, epoch, position, 0, 0 }
end

-- Returns (obstacle, uuid of the owning state folder or '', number of claims), or nil. See verbs/states.py.
local function takeover_obstacle()
  local raw = redis.call('HGET', K.services, host)
  local service = raw and cjson.decode(raw) or {}
  local owner_uuid = service.host_uuid or ''
  if owner_uuid == A.host_uuid or (owner_uuid == '' and A.served == '1') then
    return nil
  end
  local opened = tonumber(redis.call('HGET', K.opened, host) or 0)
  if redis.call('SISMEMBER', K.awaited, host) == 1
    or (redis.call('SISMEMBER', K.awaited, UNNAMED_HOSTS) == 1 and math.abs(opened) ~= epoch) then
    return 'awaited', owner_uuid, 0
  elseif owner_uuid == '' then
    return nil
  end
  local claims = 0
  for _, after in ipairs({ '/', '|' }) do
    local head = host .. after
    claims = claims + redis.call('ZLEXCOUNT', K.by_host, '[' .. head, '(' .. head .. '\255')
  end
  if claims > 0 then
    return 'claims', owner_uuid, claims
  elseif service.replaced then
    return nil
  elseif opened < 0 then
    return 'fenced', owner_uuid, 0
  elseif redis.call('HGET', K.alive, host) == '1' then
    return 'up', owner_uuid, 0
  end
end

if mode == 'register' then
  local obstacle, owner_uuid, claims = takeover_obstacle()
  if obstacle then
    return { obstacle, owner_uuid, claims }
  end
end
if mode ~= 'look' then
  beat(host, A.service, A.beats_decide)
end

-- Writes and logs a service, and makes earlier decisions on its nodes stale.
local function put_service(service)
  local text = cjson.encode(service)
  redis.call('HSET', K.services, host, text)
  append('service', '{' .. quote(host) .. ':' .. text .. '}')
  redis.call('HSET', K.eligible, host, int(position))
end

-- Marks a service as a duplicate identity at the time `since`; nil clears the mark.
local function set_duplicate(service, since)
  if (type(service.duplicate_ms) == 'number') ~= (since ~= nil) then
    service.version = service.version + 1
  end
  service.duplicate_ms = since
end

-- Records the registering agent's state folder, and closes the host if the folder changed.
-- Returns whether the service changed.
local function set_identity(service)
  local owner_uuid, host_uuid = service.host_uuid, A.host_uuid ~= '' and A.host_uuid or nil
  local refusal = A.refusal ~= '' and A.refusal or nil
  if owner_uuid and owner_uuid ~= host_uuid and redis.call('HDEL', K.opened, host) == 1 then
    append('opened', '{' .. quote(host) .. ':0}')
    open_hosts[host] = false
  end
  if owner_uuid == host_uuid and service.refusal == refusal and not service.replaced then
    return false
  end
  service.host_uuid, service.refusal, service.replaced = host_uuid, refusal, nil
  service.version = service.version + 1
  return true
end

-- Logs a registration, because its position is part of the incarnation; returns the report with the incarnation.
local function register(report)
  local text, returned_ms = redis.call('HGET', K.services, host), A.returned_ms
  local service = cjson.decode(text)
  local changed = set_identity(service)
  if A.returning == '1' and returned_ms ~= '' and now - tonumber(returned_ms) < tonumber(A.quiet_ms) then
    set_duplicate(service, now)
    changed = true
  end
  if changed then
    put_service(service)
  else
    append('service', '{' .. quote(host) .. ':' .. text .. '}')
  end
  returned_ms = A.returning == '1' and now_text or returned_ms
  local returned = returned_ms ~= '' and ',"returned_ms":' .. returned_ms or ''
  return string.sub(report, 1, -2) .. ',"issued":[' .. int(epoch) .. ',' .. int(position) .. ']' .. returned .. '}'
end

local function apply(report)
  local documents, links = rows(A.changes, 4), rows(A.links, 3)
  local has_new_capacity = write_documents(documents)
  write_links(links)
  make_stale(has_new_capacity)
  redis.call('HSET', K.reports, host, report)
end

local registered = 0
if mode == 'register' then
  local report = register(A.report)
  registered = position
  apply(report)
elseif mode ~= 'look' then
  local service = redis.call('HGET', K.services, host)
  local since = string.match(service, '"duplicate_ms":(%d+)')
  if since and now - tonumber(since) >= tonumber(A.quiet_ms) then
    local ended = cjson.decode(service)
    set_duplicate(ended, nil)
    put_service(ended)
  end
  if mode == 'apply' then
    apply(A.report)
  end
end
return { 1, epoch, position, is_open(host) and 1 or 0, registered }
