-- SPDX-License-Identifier: Apache-2.0
-- A sign of life of a service.
--@ keys services beats alive

-- Count a heartbeat; log a service that is new or, where signs of life say who `lives`, was down.
local function beat(name, new_document, lives)
  if redis.call('HSETNX', K.services, name, new_document) == 1 then
    append('service', '{' .. quote(name) .. ':' .. new_document .. '}')
  end
  redis.call('ZADD', K.beats, now_text, name)
  if lives == '1' and redis.call('HGET', K.alive, name) ~= '1' then
    redis.call('HSET', K.alive, name, '1')
    append('alive', '{' .. quote(name) .. ':true}')
  end
end
