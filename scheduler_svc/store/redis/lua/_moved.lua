-- SPDX-License-Identifier: Apache-2.0
-- Ends of attempts whose claim was moved, as in scheduler_svc/store/verbs/handover.py.
local MOVED = 'moved ' -- begins such an end; the identity that got the claim follows
local MAX_HANDOVERS = 100 -- of one claim that are followed

-- Returns how an attempt ended, or nil; a live one has not, although a later one has.
local function end_of_attempt(consumer, attempt)
  local ended = end_of(ends_of(consumer), attempt)
  local raw = ended and redis.call('HGET', K.claims, consumer)
  return not (raw and cjson.decode(raw).attempt == tonumber(attempt)) and ended or nil
end

-- Returns an end; of a claim that was moved on, or ended, as another identity, that of the last one.
local function resolve_end(ended)
  for _ = 1, MAX_HANDOVERS do
    local consumer, attempt = string.match(ended or '', '^' .. MOVED .. '(.*)@(%d+)$')
    local later = consumer and end_of_attempt(consumer, attempt)
    if not later then
      break
    end
    ended = later
  end
  return ended
end

-- Returns the host on which a migration holds the source of a consumer that moves, as a member of a group, or nil.
local function source_host_of(consumer, ends, group_id)
  for attempt, ended in pairs(ends) do
    local migration = attempt ~= 'settled' and string.match(ended, '^' .. MOVED .. '(.*)@%d+$')
    local raw = migration and redis.call('HGET', K.claims, migration)
    local claim = raw and cjson.decode(raw)
    local is_source = claim and claim.moved_from == consumer .. '@' .. attempt
    if is_source and type(claim.group) == 'table' and claim.group.id == group_id then
      return claim.host
    end
  end
end
