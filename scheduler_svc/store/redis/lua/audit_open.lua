-- SPDX-License-Identifier: Apache-2.0
-- Ends an audit: ends or flags claims that the service host did not report, and opens the host.
-- ARGV: log length, epoch, service host, grace in ms, then for each reported claim: consumer, attempt
-- Returns: epoch, position, released, remaining orphans, ms until the last orphan's grace ends, then for each reported
--          claim: '' where it is live on this host, else its end or 'unknown'; epoch alone: nothing was done;
--          0 alone: the host is unknown
--@ args log_length epoch host grace_ms
--@ keys awaited reports services
--@ include _partition
--@ include _caller
--@ include _unconfirmed
if redis.call('HEXISTS', K.reports, A.host) == 0 then
  return { 0 }
elseif tonumber(A.epoch) ~= epoch then
  return { epoch }
end
local SHARED_PAUSE = 10000 -- ms until the next audit of a duplicate identity with orphans
local host, grace, reported, live_here = A.host, tonumber(A.grace_ms), {}, {}
for i = REST, #ARGV, 2 do
  reported[ARGV[i] .. '@' .. ARGV[i + 1]] = true
end

-- Of two agents that share the host's name, neither knows what the other one runs.
local shared = string.find(redis.call('HGET', K.services, host) or '', '"duplicate_ms":', 1, true)
local released, orphans, again = 0, 0, 0

local function set_orphan(claim, since)
  if claim.orphan_ms ~= since then
    claim.orphan_ms = since
    redis.call('HSET', K.claims, claim.consumer, cjson.encode(claim))
  end
end

local function settle_unreported(claim, is_unverified, consumer)
  if claim.state == 'prepared' then
    local ended = end_of_prepared(claim)
    if ended then
      end_claim(claim, ended)
    end
    return
  end
  local since = claim.orphan_ms or now
  -- Once the attempt of an unverified claim has ended, its guest need not be waited for again.
  local is_over = now - since >= grace or (is_unverified and end_of_attempt(consumer, int(claim.attempt)))
  if is_over and not shared then
    end_claim(claim, 'released')
    released = released + 1
    return
  end
  set_orphan(claim, since)
  orphans, again = orphans + 1, math.max(again, since + grace - now, shared and SHARED_PAUSE or 0)
end

-- Returns whether an unverified claim is its consumer's claim on this host now.
local function is_verified(claim, consumer)
  local live = claim_of(own_claim(consumer), consumer, claim.attempt)
  return live and host_of(live.host) == host
end

local function settle_claim(claim)
  local consumer, is_unverified = claim.instance or consumer_of(claim.consumer), claim.state == 'unverified'
  local name = consumer .. '@' .. int(claim.attempt)
  if type(claim.orphan_ms) ~= 'number' then
    claim.orphan_ms = nil
  end
  if is_unverified and is_verified(claim, consumer) then
    end_claim(claim)
  elseif not reported[name] then
    settle_unreported(claim, is_unverified, consumer)
  elseif is_unverified then
    set_orphan(claim, nil)
    again = math.max(again, grace)
  else
    live_here[name] = true
  end
end

for _, after in ipairs({ '/', '|' }) do
  for _, member in ipairs(redis.call('ZRANGEBYLEX', K.by_host, '[' .. host .. after, '(' .. host .. after .. '\255')) do
    settle_claim(cjson.decode(redis.call('HGET', K.claims, string.match(member, '|(.*)$'))))
  end
end
flush(true)
redis.call('SREM', K.awaited, host)
if tonumber(redis.call('HGET', K.opened, host) or 0) ~= epoch then
  redis.call('HSET', K.opened, host, int(epoch))
  append('opened', '{' .. quote(host) .. ':' .. int(epoch) .. '}')
end

-- A reported claim may have ended since it was reconciled: a fence, or another host's audit, ran between the scripts.
local out = { epoch, position, released, orphans, again }
for i = REST, #ARGV, 2 do
  local is_live = live_here[ARGV[i] .. '@' .. ARGV[i + 1]]
  out[#out + 1] = is_live and '' or end_of_attempt(ARGV[i], ARGV[i + 1]) or 'unknown'
end
return out
