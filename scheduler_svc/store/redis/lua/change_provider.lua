-- SPDX-License-Identifier: Apache-2.0
-- Writes a change of a provider by the Placement API, unless what it was planned on has changed since.
-- ARGV: log length, epoch as read, provider, 1 to increase its generation else 0, '' or what the increments of its
--       generation become and the generation, its classes that must not be in use as a JSON list or '*' for all,
--       then the numbers of rows that follow:
--       providers that the plan read: id, document as read or '', number of children as read or '' if it has not read
--       them, increments of the generation as read or '' if it has not;
--       names that nobody had;
--       new documents: id, document or '' if it is deleted, capacity as JSON or '' if unchanged;
--       names: name, the id that takes it or '' if it is given up;
--       children: parent, child, 1 if it is added, 0 if it is removed;
--       service hosts of agents in whose trees this is;
--       then the roots on which earlier decisions become stale
-- Returns: done 0|1, epoch, position, increments of the generation
--@ args log_length epoch provider bump increments generation idle reads free_names writes names links hosts
--@ keys eligible provider_names api_changed
--@ include _partition
--@ include _reach
--@ include _nodes
--@ include _children
local at = REST

-- Returns a function that returns the next row of `width` arguments, or nil after `count` of them.
local function rows(count, width)
  local first, last = at, at + (tonumber(count) - 1) * width
  at = last + width
  return function()
    if first <= last then
      first = first + width
      return unpack(ARGV, first - width, first - 1)
    end
  end
end

local function is_as_read()
  local same = tonumber(A.epoch) == epoch
  for id, document, children, increments in rows(A.reads, 4) do
    same = same and (redis.call('HGET', K.providers, id) or '') == document
      and (children == '' or count_children(id) == tonumber(children))
      and (increments == '' or (redis.call('HGET', K.generations, id) or '0') == increments)
  end
  for name in rows(A.free_names, 1) do
    same = same and redis.call('HEXISTS', K.provider_names, name) == 0
      and (string.sub(name, 1, 5) == '@api/' or redis.call('HEXISTS', K.providers, name) == 0)
  end
  return same
end

local function is_idle()
  local used = sums_of(A.provider)
  if A.idle == '*' then
    for _, amount in pairs(used) do
      if amount > 0 then
        return false
      end
    end
    return true
  end
  for _, class in ipairs(cjson.decode(A.idle)) do
    if (used[class] or 0) > 0 then
      return false
    end
  end
  return true
end

if not is_as_read() or not is_idle() then
  return { 0, epoch, position, 0 }
end

if A.increments ~= '' then
  reach(tonumber(A.generation))
  redis.call('HSET', K.generations, A.provider, A.increments)
end

local function write_documents()
  local body, deleted, new_capacity = {}, {}, nil
  for id, document, capacity in rows(A.writes, 3) do
    if document == '' then
      deleted[#deleted + 1] = id
    else
      body[#body + 1] = quote(id) .. ':' .. document
      redis.call('HSET', K.providers, id, document)
      new_capacity = capacity ~= '' and capacity or new_capacity
    end
  end
  if #body > 0 then
    append('provider', '{' .. table.concat(body, ',') .. '}')
  end
  if new_capacity then
    redis.call('HSET', K.capacity, A.provider, new_capacity)
    redis.call('HSET', K.changed, A.provider, int(position))
    update_excess(A.provider, sums_of(A.provider), true)
  end
  drop_nodes(deleted)
  return new_capacity ~= nil
end

local has_new_inventories = write_documents()
for name, id in rows(A.names, 2) do
  if id == '' then
    redis.call('HDEL', K.provider_names, name)
  else
    redis.call('HSET', K.provider_names, name, id)
  end
end
for parent, child, added in rows(A.links, 3) do
  set_child(parent, child, added)
end
for host in rows(A.hosts, 1) do
  redis.call('HSET', K.api_changed, host, int(position))
end
for i = at, #ARGV do
  redis.call('HSET', K.eligible, ARGV[i], int(position)) -- not before the position of its last log entry
end
if has_new_inventories or at <= #ARGV then
  redis.call('HSET', K.meta, 'vocabulary', int(position))
end
if A.bump == '1' then
  redis.call('HINCRBY', K.generations, A.provider, 1)
end
return { 1, epoch, position, tonumber(redis.call('HGET', K.generations, A.provider) or 0) }
