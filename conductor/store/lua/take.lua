-- SPDX-License-Identifier: Apache-2.0
-- Lease due requests: their due time moves to the end of the lease, so the requests of a dead holder become due again.
-- KEYS: meta, due, leases, woken
-- ARGV: owner, lease in ms, limit
-- Returns: {request key, lease token, 1 if the previous holder never released it, ...}
--@ include _header

local now = clock()
local answer = {}
local requests = redis.call('ZRANGEBYSCORE', KEYS[2], '-inf', whole(now), 'LIMIT', 0, ARGV[3])
for _, request in ipairs(requests) do
  local token = whole(redis.call('HINCRBY', KEYS[1], 'lease', 1)) .. ' ' .. ARGV[1]
  local abandoned = redis.call('HEXISTS', KEYS[3], request)
  redis.call('HSET', KEYS[3], request, token)
  redis.call('ZADD', KEYS[2], whole(now + tonumber(ARGV[2])), request)
  redis.call('SREM', KEYS[4], request)
  answer[#answer + 1] = request
  answer[#answer + 1] = token
  answer[#answer + 1] = abandoned
end
return answer
