-- SPDX-License-Identifier: Apache-2.0
-- Lease due requests: their due time moves to the end of the lease, so the requests of a dead holder become due again.
-- ARGV: token of the new leases, which no other call has used, lease in ms, limit
-- Returns: {request key, 1 if the previous holder never released it, ...}
--@ args token lease_ms limit
--@ include _header
--@ keys due leases woken

local answer = {}
local requests = redis.call('ZRANGEBYSCORE', K.due, '-inf', whole(now), 'LIMIT', 0, A.limit)
for _, request in ipairs(requests) do
  local abandoned = redis.call('HEXISTS', K.leases, request)
  redis.call('HSET', K.leases, request, A.token)
  redis.call('ZADD', K.due, whole(now + tonumber(A.lease_ms)), request)
  redis.call('SREM', K.woken, request)
  answer[#answer + 1] = request
  answer[#answer + 1] = abandoned
end
return answer
