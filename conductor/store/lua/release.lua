-- SPDX-License-Identifier: Apache-2.0
-- Release a lease; the request is due again at once if it was woken, else at the time of its next step.
-- ARGV: request key, lease token, time of the next step in ms ('' = none)
-- Returns: 1, or 0 if the lease was lost
--@ include _header
--@ keys due leases woken

local request = ARGV[1]
if not holds(K.leases, request, ARGV[2]) then
  return 0
end
redis.call('HDEL', K.leases, request)
if redis.call('SREM', K.woken, request) == 1 then
  redis.call('ZADD', K.due, whole(clock()), request)
elseif ARGV[3] ~= '' then
  redis.call('ZADD', K.due, ARGV[3], request)
else
  redis.call('ZREM', K.due, request)
end
return 1
