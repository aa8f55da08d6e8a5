-- SPDX-License-Identifier: Apache-2.0
-- Replace or delete a document of a declared namespace that is still at the version which its writer read.
-- ARGV: log length, namespace, name, version that is expected (0: none is there), document as JSON or '' to delete it
-- Returns: done 0|1, version now (that of the position of its last change; 0: none is there)
--@ keys state
--@ include _partition
--@ include _aggregates
local namespace, name, wanted = ARGV[2], ARGV[3], ARGV[5]
local stored = redis.call('HGET', K.state, name) or ''
local head, version, held = string.match(stored, '^({"schema":1,"version":(%d+),"state":)()')
local text = held and string.sub(stored, held, -2) or ''
version = tonumber(version or 0)
if stored ~= '' and not head then
  return redis.error_reply('NEWSCHEMA a newer version wrote the document ' .. name .. ' of ' .. namespace)
elseif text == wanted then
  return { 1, version }
elseif version ~= tonumber(ARGV[4]) then
  return { 0, version }
end
local shown = wanted == '' and 'null' or wanted
version = append('state', '{' .. quote(namespace) .. ':{' .. quote(name) .. ':' .. shown .. '}}')
if namespace == 'aggregate' then
  touch_members(text == '' and '{}' or text, wanted == '' and '{}' or wanted)
end
if wanted == '' then
  redis.call('HDEL', K.state, name)
  return { 1, 0 }
end
redis.call('HSET', K.state, name, '{"schema":1,"version":' .. int(version) .. ',"state":' .. wanted .. '}')
return { 1, version }
