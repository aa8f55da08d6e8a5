-- SPDX-License-Identifier: Apache-2.0
-- Writes the changes of a Python verb, unless anything that it read has changed since. The plan has its epoch and
-- position, and these sections. Rows that concern a key begin with its word.
--   fields      read hash fields: SHA-1 of the NUL-joined texts ('' for no field), names
--   members     read set members: name, 1 if present else 0
--   ranges      read ranges of a sorted set: low, high, limit, NUL-joined members
--   sizes       read sets, and whether they had members
--   rooms       provider, class, largest sum that leaves room, whether there was room
--   entries     log entries: position, kind, body; for changed sums the body is the claims, each with 1 to add or -1 to
--               subtract, and whether to flag excess
--   positions   fields to set: name, position
--   set         fields to set: name, text
--   added       members for sorted sets: member, score
--   deleted, removed, joined, left   fields to delete; sorted set members to remove; set members to add and remove
--   raised      providers and the increments of their generations
--   excess      providers to compare with their capacity, and whether to flag new excess
--   idle        providers whose sums may be dropped
-- Positions are relative to the plan's: they shift by the entries logged since.
-- ARGV: log length, plan as JSON
-- Returns: done 0|1, epoch, position
--@ args log_length plan
--@ keys reports services alive awaited beats clock_offsets eligible api_changed children provider_names
--@ include _partition
local plan = cjson.decode(A.plan)

local function is_as_read()
  for _, read in ipairs(plan.fields) do
    local texts = redis.call('HMGET', K[read[1]], unpack(read[3]))
    for i, text in ipairs(texts) do
      texts[i] = text or ''
    end
    if redis.sha1hex(table.concat(texts, '\0')) ~= read[2] then
      return false
    end
  end
  for _, read in ipairs(plan.members) do
    if redis.call('SISMEMBER', K[read[1]], read[2]) ~= read[3] then
      return false
    end
  end
  for _, read in ipairs(plan.ranges) do
    local members = redis.call('ZRANGEBYLEX', K[read[1]], read[2], read[3], 'LIMIT', 0, read[4])
    if table.concat(members, '\0') ~= read[5] then
      return false
    end
  end
  for _, read in ipairs(plan.sizes) do
    if (redis.call('SCARD', K[read[1]]) > 0) ~= read[2] then
      return false
    end
  end
  for _, read in ipairs(plan.rooms) do
    if ((sums_of(read[1])[read[2]] or 0) <= read[3]) ~= read[4] then
      return false
    end
  end
  return plan.epoch == epoch
end

if not is_as_read() then
  return { 0, epoch, position }
end
local growth = position - plan.position
for _, entry in ipairs(plan.entries) do
  local kind, body = entry[2], entry[3]
  position = entry[1] + growth - 1
  redis.call('HSET', K.meta, 'position', int(position))
  if type(body) == 'string' then
    append(kind, body)
  else
    for _, counted in ipairs(body.claims) do
      count(counted[1], counted[2])
      tally(counted[1], counted[2])
    end
    claimed_providers = {} -- their generations are raised below
    flush(body.flag)
    changed_providers, changed_set = {}, {}
  end
end
for _, row in ipairs(plan.positions) do
  redis.call('HSET', K[row[1]], row[2], int(row[3] + growth))
end
for _, row in ipairs(plan.set) do
  redis.call('HSET', K[row[1]], row[2], row[3])
end
for _, row in ipairs(plan.deleted) do
  redis.call('HDEL', K[row[1]], row[2])
end
for _, row in ipairs(plan.removed) do
  redis.call('ZREM', K[row[1]], row[2])
end
for _, row in ipairs(plan.added) do
  redis.call('ZADD', K[row[1]], row[3], row[2])
end
for _, row in ipairs(plan.joined) do
  redis.call('SADD', K[row[1]], row[2])
end
for _, row in ipairs(plan.left) do
  redis.call('SREM', K[row[1]], row[2])
end
for _, row in ipairs(plan.raised) do
  redis.call('HINCRBY', K.generations, row[1], row[2])
end
for _, row in ipairs(plan.excess) do
  update_excess(row[1], sums_of(row[1]), row[2])
end
for _, provider in ipairs(plan.idle) do
  drop_idle_sums(provider, sums_of(provider))
end
return { 1, epoch, position }
