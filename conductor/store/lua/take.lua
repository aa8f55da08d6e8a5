-- SPDX-License-Identifier: Apache-2.0
-- Take requests that are due: their due time is pushed a lease ahead, so a holder that dies gives them back.
-- KEYS: meta, due, leases, woken
-- ARGV: owner, lease in ms, limit
-- Returns: {request key, lease token, 1 if its last holder never released it, ...}
--@ include _header

local now = clock()
local taken = {}
local requests = redis.call('ZRANGEBYSCORE', KEYS[2], '-inf', whole(now), 'LIMIT', 0, ARGV[3])
for _, request in ipairs(requests) do
  local token = whole(redis.call('HINCRBY', KEYS[1], 'lease', 1)) .. ' ' .. ARGV[1]
  local abandoned = redis.call('HEXISTS', KEYS[3], request)
  redis.call('HSET', KEYS[3], request, token)
  redis.call('ZADD', KEYS[2], whole(now + tonumber(ARGV[2])), request)
  redis.call('SREM', KEYS[4], request)
  taken[#taken + 1] = request
  taken[#taken + 1] = token
  taken[#taken + 1] = abandoned
end
return taken
