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

-- Lets the live claim of an instance become the other end of a move, or ends it, before `claim` is added.
local function make_room(live, claim)
  if not live or claim.instance then
    return
  elseif claim.migration and are_ends_of_one_move(live, claim) then
    make_source(live, claim.migration)
  else
    -- a later attempt exists only if the earlier one has ended: the store forgot that end
    end_claim(live, live.state == 'confirmed' and 'released' or 'aborted')
  end
end
