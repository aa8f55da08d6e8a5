-- SPDX-License-Identifier: Apache-2.0
-- The bounded decision record, and its index by request. `decision_bytes` in `meta` is the size of all records.
--@ keys decisions decided
local PAGE, PAGES = 16, 16 -- one script drops at most PAGE * PAGES records: many more than it adds
local SLACK = 64 -- fraction of the bound that is dropped together: dropping one per new record would cost more

-- See decisions.record_bytes.
local function record_bytes(request_id, text)
  return #text + 2 * #request_id + 200
end

local function record(request_id, text, most)
  local size = record_bytes(request_id, text)
  local id = redis.call('XADD', K.decisions, '*', 'request_id', request_id, 'document', text)
  redis.call('HSET', K.decided, request_id, id)
  local total = redis.call('HINCRBY', K.meta, 'decision_bytes', size)
  local others = redis.call('XLEN', K.decisions) - 1
  if total == size and others > 0 then -- an older gantt wrote them, about 2 kB each
    total = redis.call('HINCRBY', K.meta, 'decision_bytes', 2048 * others)
  end
  if total <= most then
    return
  end
  local target = most - most / SLACK
  for _ = 1, PAGES do
    local doomed = {}
    for i, entry in ipairs(redis.call('XRANGE', K.decisions, '-', '+', 'COUNT', PAGE)) do
      local former, document = entry[2][2], entry[2][4]
      if total <= target then
        break
      end
      doomed[i] = entry[1]
      total = total - record_bytes(former, document)
      if redis.call('HGET', K.decided, former) == entry[1] then
        redis.call('HDEL', K.decided, former)
      end
    end
    if #doomed == 0 then
      total = 0 -- nothing is left, so that the estimate of older records was wrong
      break
    end
    redis.call('XDEL', K.decisions, unpack(doomed))
    if total <= target then
      break
    end
  end
  redis.call('HSET', K.meta, 'decision_bytes', int(math.max(0, total)))
end
