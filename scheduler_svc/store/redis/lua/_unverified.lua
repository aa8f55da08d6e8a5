-- SPDX-License-Identifier: Apache-2.0
-- Unverified claims; see scheduler_svc/store/unverified.py.
--@ keys unverified

local function unverified_name(consumer, attempt, host)
  return 'unverified ' .. consumer .. ' ' .. attempt .. ' ' .. host
end

-- Returns the consumer of the claim that is stored under `name`, whether verified or not.
local function consumer_of(name)
  return string.match(name, '^unverified (%S+)') or name
end

-- Returns whether the partition has unverified claims. Reads this once per script.
local is_any_unverified
local function has_any_unverified()
  if is_any_unverified == nil then
    is_any_unverified = redis.call('HLEN', K.unverified) > 0
  end
  return is_any_unverified
end

local function has_unverified(consumer)
  return has_any_unverified() and redis.call('HEXISTS', K.unverified, consumer) == 1
end

local function count_unverified(claim, sign)
  local consumer = consumer_of(claim.consumer)
  if redis.call('HINCRBY', K.unverified, consumer, sign) <= 0 then
    redis.call('HDEL', K.unverified, consumer)
  end
end
