-- SPDX-License-Identifier: Apache-2.0
-- Marks the named known services as alive, and all others as down.
-- ARGV: log length, names as a JSON list
-- Returns: number of changes
--@ args log_length names
--@ keys services alive
--@ include _partition
local living = {}
for _, name in ipairs(cjson.decode(A.names)) do
  living[name] = true
end
local fields, changes = redis.call('HGETALL', K.alive), {}
local alive = {}
for i = 1, #fields, 2 do
  alive[fields[i]] = fields[i + 1]
end
for _, name in ipairs(redis.call('HKEYS', K.services)) do
  local is_alive = living[name] == true
  if is_alive ~= (alive[name] == '1') then
    redis.call('HSET', K.alive, name, is_alive and '1' or '0')
    changes[#changes + 1] = quote(name) .. ':' .. tostring(is_alive)
  end
end
if #changes > 0 then
  append('alive', '{' .. table.concat(changes, ',') .. '}')
end
return #changes
