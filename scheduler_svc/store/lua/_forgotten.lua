-- SPDX-License-Identifier: Apache-2.0
-- Unknown attempts that may run where the store forgot them.
--@ keys awaited

-- May an attempt of the consumer that is unknown run on a host that has not audited yet? A host that is named is asked for.
local function may_be_forgotten(live, ends, host)
  if ends.settled == epoch or (live and is_newest(live)) then
    return false
  elseif host == '' then
    return redis.call('SCARD', K.awaited) > 0
  end
  return redis.call('SISMEMBER', K.awaited, host) == 1
end
