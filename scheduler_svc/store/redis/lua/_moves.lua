-- SPDX-License-Identifier: Apache-2.0
-- Sources of moves, as in scheduler_svc/store/verbs/moves.py.
local MIGRATION_ATTEMPT = '1' -- attempt of the tombstone that records the end of a migration

local function has_ended(migration)
  return end_of(ends_of(migration), MIGRATION_ATTEMPT) ~= nil
end

-- Makes a claim the source of a migration, which then holds the claim's resources; returns the claim.
local function make_source(claim, migration)
  drop_claim(claim)
  claim.instance, claim.migration = claim.instance or claim.consumer, nil
  claim.consumer, claim.type, claim.generation = migration, 'MIGRATION', 1
  add_claim(claim, cjson.encode(claim))
  return claim
end

-- Returns the node of the source of a consumer that moves, if it is a member of the group, else nil.
local function source_host_of(consumer, group_id)
  local source = source_of(consumer)
  return source and type(source.group) == 'table' and source.group.id == group_id and source.host or nil
end
