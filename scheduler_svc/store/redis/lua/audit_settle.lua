-- SPDX-License-Identifier: Apache-2.0
-- Reconciles some of the claims that a service host's audit reports: what runs is the truth.
-- ARGV: log length, epoch, service host, then for each claim: consumer, attempt, confirmed 0|1,
--       the claim to re-assert if the store lost it, as JSON without created_ms; its moved_from is the identity that the
--       agent knows it had before
-- Returns: epoch, then for each claim: answer, 1 if the store had forgotten it else 0; epoch alone: nothing was done;
--          0 alone: the host is unknown
--@ args log_length epoch host
--@ keys reports
--@ include _partition
--@ include _caller
--@ include _unconfirmed
--@ include _credible
--@ include _reported
--@ include _moved
if redis.call('HEXISTS', K.reports, A.host) == 0 then
  return { 0 }
elseif tonumber(A.epoch) ~= epoch then
  return { epoch }
end

-- The epoch in which the host was last audited; negative: in which it was fenced since.
local opened_in = tonumber(redis.call('HGET', K.opened, A.host) or 0)
local may_have_lost_claims, is_fenced = math.abs(opened_in) ~= epoch, opened_in < 0

-- Records the amounts that a confirmed claim's host reports; returns whether they raised the claim.
local function note_report(live, claim)
  local held = believed_allocations(live, claim, may_have_lost_claims)
  local is_noted = is_same_allocations(reported_allocations(live), claim.allocations)
  if is_same_allocations(held, live.allocations) then
    if not is_noted then
      set_allocations(live, held, claim.allocations)
      redis.call('HSET', K.claims, live.consumer, cjson.encode(live))
    end
    return false
  end
  drop_claim(live)
  set_allocations(live, held, claim.allocations)
  live.generation = math.max(live.generation, tonumber(redis.call('HGET', K.meta, 'generation_base') or 0)) + 1
  add_claim(live, cjson.encode(live))
  return true
end

local function reconcile_live(live, confirmed, claim_text)
  if live.state == 'confirmed' or confirmed then
    local is_forgotten = live.state ~= 'confirmed'
    if is_forgotten then
      confirm_claim(live)
    elseif type(live.orphan_ms) == 'number' then
      live.orphan_ms = nil
      redis.call('HSET', K.claims, live.consumer, cjson.encode(live))
    end
    local is_raised = confirmed and note_report(live, cjson.decode(claim_text))
    return 'confirmed', (is_forgotten or is_raised) and 1 or 0
  end
  local ended = end_of_prepared(live)
  if ended then
    end_claim(live, ended)
  end
  return ended or 'prepared', 0
end

local function add_unverified(consumer, attempt, host, claim_text)
  local name = unverified_name(consumer, attempt, host)
  if redis.call('HEXISTS', K.claims, name) == 0 then
    local claim = cjson.decode(claim_text)
    claim.consumer, claim.state, claim.created_ms = name, 'unverified', clock
    add_claim(claim, cjson.encode(claim))
  end
  return 'unverified', 0
end

-- Returns whether the host of a live claim has confirmed or reported it in this epoch.
local function is_reported(live)
  return live.state == 'confirmed' and is_newest(live)
end

-- Ends the attempt that was moved to a re-asserted claim: the store forgot the move.
local function end_origin(claim)
  local consumer, attempt = string.match(type(claim.moved_from) == 'string' and claim.moved_from or '', '^(.*)@(%d+)$')
  if not consumer or end_of_attempt(consumer, attempt) then
    return
  end
  local raw = redis.call('HGET', K.claims, consumer)
  local live = raw and cjson.decode(raw) or nil
  local moved = MOVED .. claim.consumer .. '@' .. int(claim.attempt)
  if live and live.attempt == tonumber(attempt) and host_of(live.host) == A.host then
    end_claim(live, moved)
  elseif not live or live.attempt > tonumber(attempt) then
    add_tombstone(consumer, tonumber(attempt), moved)
  end
end

local function reassert(claim_text)
  local claim = cjson.decode(claim_text)
  end_origin(claim)
  add_claim(claim, string.sub(claim_text, 1, -2) .. ',"created_ms":' .. clock_text .. '}')
  return 'confirmed', 1
end

local function reconcile(consumer, attempt, confirmed, host, claim_text)
  local raw = redis.call('HGET', K.claims, consumer)
  local live = raw and cjson.decode(raw) or nil
  if live and live.attempt == tonumber(attempt) then
    if host_of(live.host) == host then
      return reconcile_live(live, confirmed, claim_text)
    elseif not confirmed then
      return 'conflict', 0
    elseif live.state == 'prepared' and may_have_lost_claims and is_credible(cjson.decode(claim_text), live) then
      drop_claim(live) -- the store forgot this claim, and prepared the attempt again: nothing runs under that claim
      return reassert(claim_text)
    elseif is_fenced then
      return 'fenced', 0 -- the live attempt was served after the fence, which ended this copy too
    end
    return add_unverified(consumer, attempt, host, claim_text)
  end
  local ended = end_of_attempt(consumer, attempt)
  if ended then
    return ended == UNKNOWN_END and 'aborted' or resolve_end(ended), 0
  elseif live and live.attempt > tonumber(attempt) then
    return 'conflict', 0
  elseif confirmed and is_fenced and not may_have_lost_claims then
    return 'fenced', 0 -- the fence ended all that the closed host held, whatever tombstones are left
  elseif not may_have_lost_claims or (live and is_reported(live))
    or (confirmed and not is_credible(cjson.decode(claim_text), live)) then
    -- the store has forgotten nothing of this host, or the live claim's host has reported that one, or the claim holds
    -- what this host cannot speak for
    if confirmed then
      return add_unverified(consumer, attempt, host, claim_text)
    end
    return 'aborted', 0
  elseif live then
    -- a later attempt exists only if the earlier one has ended: the store forgot that end
    end_claim(live, live.state == 'confirmed' and 'released' or 'aborted')
  end
  if not confirmed then
    add_tombstone(consumer, attempt, 'aborted') -- only this host could have confirmed it, and it has not
    return 'aborted', 0
  end
  return reassert(claim_text)
end

local out = { epoch }
for i = REST, #ARGV, 4 do
  local answer, forgotten = reconcile(ARGV[i], ARGV[i + 1], ARGV[i + 2] == '1', A.host, ARGV[i + 3])
  out[#out + 1], out[#out + 2] = answer, forgotten
end
flush(true)
return out
