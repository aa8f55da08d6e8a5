-- SPDX-License-Identifier: Apache-2.0
-- Reconciles some of the claims that a service host's audit reports: what runs is the truth.
-- ARGV: log length, epoch, service host, then for each claim: consumer, attempt, confirmed 0|1,
--       the claim to re-assert if the store lost it, as JSON without created_ms, with role and migration as the agent
--       knows them
-- Returns: epoch, then for each claim: answer, 1 if the store had forgotten it else 0; epoch alone: nothing was done;
--          0 alone: the host is unknown
--@ args log_length epoch host
--@ keys reports
--@ include _partition
--@ include _caller
--@ include _unconfirmed
--@ include _credible
--@ include _moves
--@ include _ends_of_move
--@ include _reported
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
  local allocations = believed_allocations(live, claim, may_have_lost_claims)
  local is_noted = is_same_allocations(reported_allocations(live), claim.allocations)
  if is_same_allocations(allocations, live.allocations) then
    if not is_noted then
      set_allocations(live, allocations, claim.allocations)
      redis.call('HSET', K.claims, live.consumer, cjson.encode(live))
    end
    return false
  end
  drop_claim(live)
  set_allocations(live, allocations, claim.allocations)
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
    give_role(claim, nil)
    claim.migration, claim.instance = move_of(claim), nil
    claim.consumer, claim.state, claim.created_ms = name, 'unverified', clock
    add_claim(claim, cjson.encode(claim))
  end
  return 'unverified', 0
end

-- Returns the live claim, made the source of the migration that its agent names if the store forgot that. The move that
-- the store has instead, if any, is an earlier one: its other end has ended.
local function with_role(live, claim_text)
  if not may_have_lost_claims or is_of_api(live) or not string.find(claim_text, '"role":"source"', 1, true) then
    return live
  end
  local claim = cjson.decode(claim_text)
  give_role(claim, nil)
  if not claim.instance or move_of(live) == claim.consumer or redis.call('HEXISTS', K.claims, claim.consumer) == 1 then
    return live
  end
  local other = live.instance and own_claim(live.instance) or not live.instance and source_of(live.consumer)
  if other then
    if is_reported(other) then
      return live
    end
    end_forgotten(other)
  end
  return make_source(live, claim.consumer)
end

local function reassert(claim)
  claim.created_ms = clock
  add_claim(claim, cjson.encode(claim))
  return 'confirmed', 1
end

-- Reconciles a claim that is live.
local function reconcile_attempt(live_attempt, attempt, confirmed, host, claim_text)
  if host_of(live_attempt.host) == host then
    return reconcile_live(with_role(live_attempt, claim_text), confirmed, claim_text)
  elseif not confirmed then
    return 'conflict', 0
  end
  local claim = cjson.decode(claim_text)
  local consumer = claim.consumer
  if live_attempt.state == 'prepared' and may_have_lost_claims and is_credible(claim, live_attempt) then
    -- The store forgot the reported claim, and prepared the attempt again: nothing runs under that claim.
    drop_claim(live_attempt)
    give_role(claim, nil)
    return reassert(claim)
  elseif is_fenced then
    return 'fenced', 0 -- the live attempt was served after the fence, which ended this copy too
  end
  return add_unverified(consumer, attempt, host, claim_text)
end

-- Returns whether a claim is reported as the source of the live claim's move: ends of later attempts end no source.
local function is_source_of(claim, live)
  return claim.role == 'source' and live and claim.migration == live.migration
end

local function reconcile(consumer, attempt, confirmed, host, claim_text)
  local live = own_claim(consumer)
  local live_attempt = claim_of(live, consumer, attempt)
  if live_attempt then
    return reconcile_attempt(live_attempt, attempt, confirmed, host, claim_text)
  end
  local ends, claim = ends_of(consumer), cjson.decode(claim_text)
  local ended = ends[attempt] or (not is_source_of(claim, live) and end_of(ends, attempt))
  if ended then
    return ended == UNKNOWN_END and 'aborted' or ended, 0
  end
  give_role(claim, live)
  local others = other_claims(live, claim)
  local contradicted_by, is_later = contradiction(others, attempt)
  if is_later then
    return 'conflict', 0
  elseif confirmed and is_fenced and not may_have_lost_claims then
    return 'fenced', 0 -- the fence ended all that the closed host held, whatever tombstones are left
  elseif not may_have_lost_claims or contradicted_by
    or (claim.instance and redis.call('HEXISTS', K.claims, claim.consumer) == 1)
    or (confirmed and not is_credible(claim, live)) then
    -- the store has forgotten nothing of this host, or the host of another claim has reported that one, or the
    -- claim holds what this host cannot speak for
    if confirmed then
      return add_unverified(consumer, attempt, host, claim_text)
    end
    return 'aborted', 0
  end
  if not confirmed then
    add_tombstone(consumer, attempt, 'aborted') -- only this host could have confirmed it, and it has not
    return 'aborted', 0
  end
  make_room(live, others, claim)
  return reassert(claim)
end

local out = { epoch }
for i = REST, #ARGV, 4 do
  local answer, forgotten = reconcile(ARGV[i], ARGV[i + 1], ARGV[i + 2] == '1', A.host, ARGV[i + 3])
  out[#out + 1], out[#out + 2] = answer, forgotten
end
flush(true)
return out
