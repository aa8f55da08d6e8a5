-- SPDX-License-Identifier: Apache-2.0
-- Releases a lease; the request is due at once if it was woken, else at its next step.
-- ARGV: request key, lease token, time of the next step in ms ('' = none)
-- Returns: 1, or 0 if the lease was lost
--@ args request token next_ms
--@ include _due
--@ keys leases woken

local request = A.request
if not holds(K.leases, request, A.token) then
  return 0
end
redis.call('HDEL', K.leases, request)
if redis.call('SREM', K.woken, request) == 1 then
  set_due(request, now)
else
  set_due(request, tonumber(A.next_ms))
end
return 1
