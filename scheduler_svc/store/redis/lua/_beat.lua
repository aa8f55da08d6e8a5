-- SPDX-License-Identifier: Apache-2.0
-- Heartbeats of services.
--@ keys services beats alive

-- Records a heartbeat; logs a service that is new or, if heartbeats decide liveness, was down.
local function beat(name, new_document, beats_decide)
  if redis.call('HSETNX', K.services, name, new_document) == 1 then
    append('service', '{' .. quote(name) .. ':' .. new_document .. '}')
  end
  redis.call('ZADD', K.beats, now_text, name)
  if beats_decide == '1' and redis.call('HGET', K.alive, name) ~= '1' then
    redis.call('HSET', K.alive, name, '1')
    append('alive', '{' .. quote(name) .. ':true}')
  end
end
