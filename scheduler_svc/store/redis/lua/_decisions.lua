-- SPDX-License-Identifier: Apache-2.0
-- Decision record, bounded in size, and its index by request. Field `decision_bytes` of `meta` has the total size.
--@ keys decisions decided
local PAGE, PAGES = 16, 16 -- a script drops at most PAGE * PAGES records, far more than it adds
local SLACK = 64 -- 1/SLACK of the bound is dropped at once, which is cheaper than single records

-- Returns the bytes that a decision counts in the record. Keep in sync with store/decisions.py.
local function record_bytes(request_id, project, text)
  local by_project = project ~= '' and #request_id + 2 * #project or 0
  return #text + 2 * #request_id + by_project + 200
end

-- Returns the index keys of a decision. Projects may use the same request id, so the newest decision of a request is
-- indexed per project and overall.
local function index_keys(request_id, project)
  return project == '' and { request_id } or { request_id, request_id .. '\0' .. project }
end

local function record(request_id, project, text, most)
  local size = record_bytes(request_id, project, text)
  local id = redis.call('XADD', K.decisions, '*', 'request_id', request_id, 'document', text, 'project', project)
  for _, key in ipairs(index_keys(request_id, project)) do
    redis.call('HSET', K.decided, key, id)
  end
  local total = redis.call('HINCRBY', K.meta, 'decision_bytes', size)
  if total <= most then
    return
  end
  local target = most - most / SLACK
  for _ = 1, PAGES do
    local doomed = {}
    for i, entry in ipairs(redis.call('XRANGE', K.decisions, '-', '+', 'COUNT', PAGE)) do
      local former, document, project = entry[2][2], entry[2][4], entry[2][6]
      if total <= target then
        break
      end
      doomed[i] = entry[1]
      total = total - record_bytes(former, project, document)
      for _, key in ipairs(index_keys(former, project)) do
        if redis.call('HGET', K.decided, key) == entry[1] then
          redis.call('HDEL', K.decided, key)
        end
      end
    end
    if #doomed == 0 then
      total = 0 -- the stream's entries were deleted from outside
      break
    end
    redis.call('XDEL', K.decisions, unpack(doomed))
    if total <= target then
      break
    end
  end
  redis.call('HSET', K.meta, 'decision_bytes', int(math.max(0, total)))
end
