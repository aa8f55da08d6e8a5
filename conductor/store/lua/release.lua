-- SPDX-License-Identifier: Apache-2.0
-- Release a lease; the request is due again at once if it was woken, else at the time of its next step.
-- ARGV: request key, lease token, time of the next step in ms ('' = none)
-- Returns: 1, or 0 if the lease was lost
--@ args request token next_ms
--@ include _header
--@ keys due leases woken

local request = A.request
if not holds(K.leases, request, A.token) then
  return 0
end
redis.call('HDEL', K.leases, request)
if redis.call('SREM', K.woken, request) == 1 then
  redis.call('ZADD', K.due, whole(now), request)
elseif A.next_ms ~= '' then
  redis.call('ZADD', K.due, A.next_ms, request)
else
  redis.call('ZREM', K.due, request)
end
return 1
