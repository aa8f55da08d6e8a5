-- SPDX-License-Identifier: Apache-2.0
-- Replaces or deletes a document of a declared namespace, if it still has the expected version.
-- ARGV: log length, namespace, name, expected version (0: no document), document as JSON ('' deletes),
--       number of instances that it reports as built ('' if it is not a node's),
--       then names on which earlier decisions become stale; unknown names are skipped
-- Returns: done 0|1, current version (position of the last change; 0: no document)
--@ args log_length namespace name version document built
--@ keys state reports eligible built
--@ include _partition
local BATCH = 1000 -- names per command
local namespace, name, document = A.namespace, A.name, A.document
local stored = redis.call('HGET', K.state, name) or ''
local head, version, start = string.match(stored, '^({"schema":1,"version":(%d+),"state":)()')
local text = start and string.sub(stored, start, -2) or ''
version = tonumber(version or 0)
if stored ~= '' and not head then
  return redis.error_reply('NEWSCHEMA a newer version wrote the document ' .. name .. ' of ' .. namespace)
elseif text == document then
  return { 1, version }
elseif version ~= tonumber(A.version) then
  return { 0, version }
end
local logged = document == '' and 'null' or document
version = append('state', '{' .. quote(namespace) .. ':{' .. quote(name) .. ':' .. logged .. '}}')
if A.built ~= '' and document ~= '' then
  redis.call('HSET', K.built, name, A.built)
end
for first = REST, #ARGV, BATCH do
  local last = math.min(#ARGV, first + BATCH - 1)
  local reports = redis.call('HMGET', K.reports, unpack(ARGV, first, last))
  local capacities = redis.call('HMGET', K.capacity, unpack(ARGV, first, last))
  for i = first, last do
    if reports[i - first + 1] or capacities[i - first + 1] then
      redis.call('HSET', K.eligible, ARGV[i], int(position))
    end
  end
end
if document == '' then
  redis.call('HDEL', K.state, name)
  redis.call('HDEL', K.built, name)
  return { 1, 0 }
end
redis.call('HSET', K.state, name, '{"schema":1,"version":' .. int(version) .. ',"state":' .. document .. '}')
return { 1, version }
