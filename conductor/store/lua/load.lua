-- SPDX-License-Identifier: Apache-2.0
-- Reads a page of a request's instances with a next step, without new ones, and renews the lease.
-- ARGV: request key, lease token, lease in ms, uuid after which to read ('' = from the first), limit, ms for which
--       callers may repeat a request
-- Returns: {} if the lease is lost, else {now, earliest wake time after now ('' = none), uuid before the next page (''
--          = last page), request document, epoch, 1 if callers may still repeat requests forgotten at its begin, uuid,
--          record, ...}
--@ args request token lease_ms after limit repeat_horizon_ms
--@ include _due
--@ keys requests instances pending leases

local request = A.request
if not holds(K.leases, request, A.token) then
  return {}
end
set_due(request, now + tonumber(A.lease_ms))
local from = A.after == '' and ('[' .. request .. '|') or ('(' .. request .. '|' .. A.after)
local members = redis.call('ZRANGEBYLEX', K.pending, from, '(' .. request .. '}', 'LIMIT', 0, A.limit)
-- An epoch is at least the server's clock at its begin; the earlier of both clocks decides.
local may_repeat = math.min(now, server_clock) < tonumber(meta[1]) + tonumber(A.repeat_horizon_ms)
local answer = {whole(now), '', '', redis.call('HGET', K.requests, request), meta[1], may_repeat and 1 or 0}
local has_new = new_instances(request) > 0
local first
local uuid = ''
for _, member in ipairs(members) do
  uuid = string.sub(member, #request + 2)
  local value = redis.call('HGET', K.instances, uuid)
  local head = unpack_header(value)
  if has_new and head.step == NEW_STEP then -- not begun: take.lua has not taken the request for it yet
  elseif head.wake <= now then
    answer[#answer + 1] = uuid
    answer[#answer + 1] = value
  elseif not first or head.wake < first then
    first = head.wake
  end
end
if first then
  answer[2] = whole(first)
end
if #members == tonumber(A.limit) then
  answer[3] = uuid
end
return answer
