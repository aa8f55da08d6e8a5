-- SPDX-License-Identifier: Apache-2.0
-- Writes the changes of a verb in Python, unless anything that it read has changed since. The plan has its epoch and
-- position, and rows whose first elements are the words of keys:
--   fields, members, ranges   what was read: SHA-1 of the texts by NUL, '' for none, and names; name and 1 or 0;
--                             low, high, limit, members by NUL
--   sizes                     sets, and whether they had members
--   rooms                     provider, class, sum up to which there is room, and whether there was
--   entries                   of the log: position, kind, body; of sums that change, instead of the body: claims,
--                             each with 1 to add it or -1 to subtract it, and whether excess is flagged
--   positions, set            fields: name and position; name and text
--   added                     to sorted sets: member, score
--   deleted, removed, joined, left   names of fields, and of members of sorted sets and sets
--   raised                    providers, and by how much their generations grow
--   excess, idle              providers whose excess is compared, and whether it is flagged; those that may be removed
-- Positions are as of the plan's own: they grow as much as the log has grown meanwhile.
-- ARGV: log length, plan as JSON
-- Returns: done 0|1, epoch, position
--@ args log_length plan
--@ keys nodes reports services alive awaited beats clock_offsets eligible api_changed children provider_names
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
    claimed_providers = {} -- raised below
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
