-- SPDX-License-Identifier: Apache-2.0
-- The bounded decision record, and its index by request.
--@ keys decisions decided
local SLACK = 64 -- records are dropped in batches: dropping one per new record would cost more than adding it

local function record(request_id, text, most)
  local id = redis.call('XADD', K.decisions, '*', 'request_id', request_id, 'document', text)
  redis.call('HSET', K.decided, request_id, id)
  local over = redis.call('XLEN', K.decisions) - most
  if over < SLACK then
    return
  end
  local doomed = {}
  for i, entry in ipairs(redis.call('XRANGE', K.decisions, '-', '+', 'COUNT', math.min(over, 1000))) do
    doomed[i] = entry[1]
    if redis.call('HGET', K.decided, entry[2][2]) == entry[1] then
      redis.call('HDEL', K.decided, entry[2][2])
    end
  end
  redis.call('XDEL', K.decisions, unpack(doomed))
end
