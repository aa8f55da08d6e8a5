-- SPDX-License-Identifier: Apache-2.0
-- Attempts that the store may have forgotten.
--@ keys awaited
--@ include _unnamed

-- Returns whether any host is awaited, because it may run forgotten claims. Reads this once per script.
local is_awaiting
local function awaits_any()
  if is_awaiting == nil then
    is_awaiting = redis.call('SCARD', K.awaited) > 0
  end
  return is_awaiting
end

-- Returns whether a forgotten attempt may run on `host` ('*': any host, '': no host).
local function may_be_forgotten(host)
  if host == '*' then
    return awaits_any()
  elseif host == '' then
    return false
  end
  return redis.call('SISMEMBER', K.awaited, host) == 1
    or redis.call('SISMEMBER', K.awaited, UNNAMED_HOSTS) == 1 and not is_open(host)
end

-- Returns the answer for an unknown attempt: 'closed' if an unverified or forgotten attempt of the consumer may run.
local function unknown_answer(consumer)
  return (has_unverified(consumer) or may_be_forgotten('*')) and 'closed' or 'unknown'
end
