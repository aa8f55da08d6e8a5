-- SPDX-License-Identifier: Apache-2.0
-- Unknown attempts that the store may have forgotten.
--@ keys awaited

-- Returns whether an unknown attempt of the consumer may run on a host that has not audited yet: `host`, or any for ''.
local function may_be_forgotten(live, ends, host)
  if ends.settled == epoch or (live and is_newest(live)) then
    return false
  elseif host == '' then
    return redis.call('SCARD', K.awaited) > 0
  end
  return redis.call('SISMEMBER', K.awaited, host) == 1
end
