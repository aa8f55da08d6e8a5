-- SPDX-License-Identifier: Apache-2.0
-- Unverified claims, as in scheduler_svc/store/unverified.py.

local function unverified_name(consumer, attempt, host)
  return 'unverified ' .. consumer .. ' ' .. attempt .. ' ' .. host
end

-- Returns the consumer of a stored claim, verified or not.
local function consumer_of(name)
  return string.match(name, '^unverified (%S+)') or name
end
