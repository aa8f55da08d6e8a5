-- SPDX-License-Identifier: Apache-2.0
-- Claims that the store forgot, as ends of moves; as in scheduler_svc/store/verbs/audit.py. Included after _moves.

-- Gives a reported claim the role that its agent knows, or that a later live attempt shows.
local function give_role(claim, live)
  local role, migration = claim.role, claim.migration
  if live and live.migration and live.attempt > claim.attempt then
    role, migration = 'source', live.migration
  elseif type(migration) ~= 'string' or has_ended(migration) then
    role, migration = 'only', nil
  end
  claim.role, claim.instance, claim.migration = nil, nil, nil
  if role == 'source' then
    claim.instance, claim.consumer, claim.type = claim.consumer, migration, 'MIGRATION'
  else
    claim.migration = migration
  end
end

-- Returns whether a claim that the store forgot, and the live one of its instance, are source and destination.
local function are_ends_of_one_move(live, claim)
  if redis.call('HEXISTS', K.sources, claim.instance or claim.consumer) == 1 or is_of_api(live) then
    return false
  elseif live.attempt > claim.attempt then
    return claim.instance ~= nil
  end
  return claim.migration ~= nil
end

-- Returns the claims of an instance that are no other end of the move of `claim`, which the store forgot.
local function other_claims(live, claim)
  local others, source = {}, source_of(claim.instance or claim.consumer)
  if live and not are_ends_of_one_move(live, claim) then
    others[1] = live
  end
  if source and source.consumer ~= move_of(claim) then
    others[#others + 1] = source
  end
  return others
end

-- Returns an other claim that shows that `claim` has ended, or nil; and whether the others are of later attempts.
local function contradiction(others, attempt)
  local reported
  for _, other in ipairs(others) do
    if other.attempt > tonumber(attempt) then
      return other, true
    end
    reported = reported or (is_reported(other) and other) or nil
  end
  return reported, false
end

-- Ends a claim whose end the store forgot.
local function end_forgotten(claim)
  end_claim(claim, claim.state == 'confirmed' and 'released' or 'aborted')
end

-- Lets the live claim of an instance become the other end of a move, and ends others, before `claim` is added.
local function make_room(live, others, claim)
  if live and live ~= others[1] and claim.migration then
    make_source(live, claim.migration)
  end
  local last = others[#others]
  local remove = claim.migration and last and last.instance and drop_claim or end_forgotten
  for _, other in ipairs(others) do
    remove(other)
  end
end
