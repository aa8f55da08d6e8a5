-- SPDX-License-Identifier: Apache-2.0
-- Release a lease; the request is due again at once if it was woken, else at the time of its next step.
-- KEYS: due, leases, woken
-- ARGV: request key, lease token, time of the next step in ms ('' = none)
-- Returns: 1, or 0 if the lease was lost
--@ include _header

local request = ARGV[1]
if not holds(KEYS[2], request, ARGV[2]) then
  return 0
end
redis.call('HDEL', KEYS[2], request)
if redis.call('SREM', KEYS[3], request) == 1 then
  redis.call('ZADD', KEYS[1], whole(clock()), request)
elseif ARGV[3] ~= '' then
  redis.call('ZADD', KEYS[1], ARGV[3], request)
else
  redis.call('ZREM', KEYS[1], request)
end
return 1
