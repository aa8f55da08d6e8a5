-- SPDX-License-Identifier: Apache-2.0
-- Lease due requests: their due time moves to the end of the lease, so the requests of a dead holder become due again.
-- ARGV: owner, lease in ms, limit
-- Returns: {request key, lease token, 1 if the previous holder never released it, ...}
--@ include _header
--@ keys meta due leases woken

local now = clock()
local answer = {}
local requests = redis.call('ZRANGEBYSCORE', K.due, '-inf', whole(now), 'LIMIT', 0, ARGV[3])
for _, request in ipairs(requests) do
  local token = whole(redis.call('HINCRBY', K.meta, 'lease', 1)) .. ' ' .. ARGV[1]
  local abandoned = redis.call('HEXISTS', K.leases, request)
  redis.call('HSET', K.leases, request, token)
  redis.call('ZADD', K.due, whole(now + tonumber(ARGV[2])), request)
  redis.call('SREM', K.woken, request)
  answer[#answer + 1] = request
  answer[#answer + 1] = token
  answer[#answer + 1] = abandoned
end
return answer
