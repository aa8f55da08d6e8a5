-- SPDX-License-Identifier: Apache-2.0
-- Unknown attempts that the store may have forgotten.
--@ keys awaited
--@ include _unnamed

-- Returns whether any host may run claims that the store forgot, as of the first call in a script.
local is_awaiting
local function awaits_any()
  if is_awaiting == nil then
    is_awaiting = redis.call('SCARD', K.awaited) > 0
  end
  return is_awaiting
end

-- Returns whether an attempt that the store does not know may run on a host that has not audited yet: `host`, or any
-- for '*'. It does not if it was sent to no host, ''.
local function may_be_forgotten(host)
  if host == '*' then
    return awaits_any()
  elseif host == '' then
    return false
  end
  return redis.call('SISMEMBER', K.awaited, host) == 1
    or redis.call('SISMEMBER', K.awaited, UNNAMED_HOSTS) == 1 and not is_open(host)
end

-- Returns the answer for an attempt that the store does not know. Another attempt of the consumer may run if a host
-- reports one, which is unverified, or has not audited yet.
local function unknown_answer(consumer)
  return (has_unverified(consumer) or may_be_forgotten('*')) and 'closed' or 'unknown'
end
