-- SPDX-License-Identifier: Apache-2.0
-- Records the server that serves a store, and decides whether it begins an epoch: only once if processes race.
--@ args read_run_id read_epoch run_id replid may_have_forgotten observed_epoch observed_position

-- Records the server in the hash `key`, whose field `counter` grows with the store's writes. `clock` is the server's.
-- Returns the epoch, the counter, and whether the caller must begin that epoch: write both and their consequences.
local function record_server(key, counter, clock)
  local recorded = redis.call('HMGET', key, 'run_id', 'epoch', counter)
  local epoch, position = tonumber(recorded[2] or 0), tonumber(recorded[3] or 0)
  if (recorded[1] or '') ~= A.read_run_id or epoch ~= tonumber(A.read_epoch) then
    return epoch, position, false
  end
  redis.call('HSET', key, 'schema', 1, 'run_id', A.run_id, 'replid', A.replid)
  if A.may_have_forgotten == '0' and epoch > 0 then
    return epoch, position, false
  end
  return math.max(epoch + 1, tonumber(A.observed_epoch) + 1, clock), math.max(position, tonumber(A.observed_position)), true
end
