-- SPDX-License-Identifier: Apache-2.0
-- Candidates of a batch, and the stored data of their hosts and providers. Reads A.position and A.resources.
local decided_at = tonumber(A.position)
local resources_text = A.resources
local resources = resources_text ~= '' and cjson.decode(resources_text) or nil
local capacities, eligibles, homes, host_read, candidates = {}, {}, {}, {}, {}

-- Parses a candidate. Cached, because a large batch names each host many times.
local function read_candidate(text)
  local candidate = candidates[text]
  if not candidate then
    local host, sums_position, limit, build_limit, required_text =
      string.match(text, '^(%S+) ?(%d*) ?<?(%d*) ?~?(%d*) ?(.*)$')
    candidate = { host = host, quoted = quote(host), sums_position = tonumber(sums_position) or decided_at,
      limit = tonumber(limit), build_limit = tonumber(build_limit) }
    if required_text ~= '' then
      candidate.required, candidate.required_text = cjson.decode(required_text), required_text
    else
      candidate.flat = true -- needs only the host itself: the usual case, without loops over providers
      candidate.required = { [host] = resources }
      candidate.required_text = '{' .. candidate.quoted .. ':' .. resources_text .. '}'
    end
    candidates[text] = candidate
  end
  return candidate
end

local function without_providers(candidate, allocations)
  local required = {}
  for provider, amounts in pairs(candidate.required) do
    required[provider] = not allocations[provider] and amounts or nil
  end
  return { host = candidate.host, quoted = candidate.quoted, sums_position = candidate.sums_position,
    limit = candidate.limit, build_limit = candidate.build_limit, required = required, required_text = cjson.encode(required) }
end

-- Reads hash fields in batches, because Lua limits the number of arguments of a call.
local function read_fields(key, names)
  local values = {}
  if #names > 0 and #names <= 1000 then
    return redis.call('HMGET', key, unpack(names))
  end
  for first = 1, #names, 1000 do
    for i, value in ipairs(redis.call('HMGET', key, unpack(names, first, math.min(#names, first + 999)))) do
      values[first + i - 1] = value
    end
  end
  return values
end

-- Reads all data that judging these candidates needs, in few commands.
local function fetch(batch)
  local names, hosts, related = {}, {}, {}
  local function note(name)
    if capacities[name] == nil then
      capacities[name] = false
      names[#names + 1] = name
      local host = host_of(name)
      homes[name] = host
      if not host_read[host] then
        host_read[host] = true
        hosts[#hosts + 1] = host
      end
    end
  end
  for _, candidate in ipairs(batch) do
    note(candidate.host)
    for provider in pairs(candidate.required) do
      note(provider)
    end
  end
  if #names == 0 then
    return
  end
  local capacity, used = read_fields(K.capacity, names), read_fields(K.used, names)
  for i, name in ipairs(names) do
    capacities[name] = capacity[i] and cjson.decode(capacity[i])
    sums[name] = sums[name] or (used[i] and cjson.decode(used[i])) or {}
    related[i] = name
  end
  for _, host in ipairs(hosts) do
    related[#related + 1] = host
  end
  local eligible = read_fields(K.eligible, related)
  for i, name in ipairs(related) do
    eligibles[name] = tonumber(eligible[i] or 0)
  end
  for i, opened in ipairs(read_fields(K.opened, hosts)) do
    open_hosts[hosts[i]] = hosts[i] == '@api' or tonumber(opened or 0) == epoch
  end
end

local function fetch_flat(name)
  if capacities[name] == nil then
    local capacity, host = redis.call('HGET', K.capacity, name), host_of(name)
    homes[name] = host
    capacities[name] = capacity and cjson.decode(capacity) or false
    sums_of(name)
    local eligible = redis.call('HMGET', K.eligible, name, host)
    eligibles[name], eligibles[host] = tonumber(eligible[1] or 0), tonumber(eligible[2] or 0)
    is_open(host)
  end
end

-- Reads the data of all first candidates at once, because most intents get their first candidate.
local function fetch_first(intents)
  local firsts = {}
  if #intents == 1 then
    return -- read when judged
  end
  for _, intent in ipairs(intents) do
    if #intent.texts > 0 then
      firsts[#firsts + 1] = read_candidate(intent.texts[1])
    end
  end
  fetch(firsts)
end
