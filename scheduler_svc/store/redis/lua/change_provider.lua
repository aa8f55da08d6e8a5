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
--@ keys provider_names api_changed
--@ include _partition
--@ include _reach
--@ include _plan
local reads, free_names, writes = rows(A.reads, 4), rows(A.free_names, 1), rows(A.writes, 3)
local names, links, hosts = rows(A.names, 2), rows(A.links, 3), rows(A.hosts, 1)

local function are_free()
  for name in free_names do
    if redis.call('HEXISTS', K.provider_names, name) == 1
      or string.sub(name, 1, 5) ~= '@api/' and redis.call('HEXISTS', K.providers, name) == 1 then
      return false
    end
  end
  return true
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

if not is_as_read(A.epoch, reads) or not are_free() or not is_idle() then
  return { 0, epoch, position, 0 }
end

if A.increments ~= '' then
  reach(tonumber(A.generation))
  redis.call('HSET', K.generations, A.provider, A.increments)
end
local has_new_capacity = write_documents(writes)
for name, id in names do
  if id == '' then
    redis.call('HDEL', K.provider_names, name)
  else
    redis.call('HSET', K.provider_names, name, id)
  end
end
write_links(links)
for host in hosts do
  redis.call('HSET', K.api_changed, host, int(position))
end
make_stale(has_new_capacity)
if A.bump == '1' then
  redis.call('HINCRBY', K.generations, A.provider, 1)
end
return { 1, epoch, position, tonumber(redis.call('HGET', K.generations, A.provider) or 0) }
