-- SPDX-License-Identifier: Apache-2.0
-- Writes the changes of a Python verb, unless anything that it read has changed since. The plan has its epoch and
-- position, and these sections. Commands and positions name their key by its word.
--   reads       SHA-1 of the NUL-joined texts of an answer ('' for no field), or a number; the command
--   sizes       read sets, and whether they had members
--   rooms       provider, class, largest sum that leaves room, whether there was room
--   entries     log entries: position, kind, body; for changed sums the body is the claims, each with 1 to add or -1 to
--               subtract, and whether to flag excess
--   positions   fields to set: word, name, position
--   writes      commands, in order
--   excess      providers to compare with their capacity, and whether to flag new excess
--   idle        providers whose sums may be dropped
-- Positions are relative to the plan's: they shift by the entries logged since.
-- ARGV: log length, plan as JSON
-- Returns: done 0|1, epoch, position
--@ args log_length plan
--@ keys reports services alive awaited beats clock_offsets eligible api_changed children provider_names
--@ include _partition
local plan = cjson.decode(A.plan)

local function run(command, word, ...)
  return redis.call(command, K[word], ...)
end

local function text_of(answer)
  if type(answer) ~= 'table' then
    return tostring(answer)
  end
  for i, text in ipairs(answer) do
    answer[i] = text or ''
  end
  return redis.sha1hex(table.concat(answer, '\0'))
end

local function is_as_read()
  for _, read in ipairs(plan.reads) do
    if text_of(run(unpack(read, 2))) ~= read[1] then
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
for _, write in ipairs(plan.writes) do
  run(unpack(write))
end
for _, row in ipairs(plan.excess) do
  update_excess(row[1], sums_of(row[1]), row[2])
end
for _, provider in ipairs(plan.idle) do
  drop_idle_sums(provider, sums_of(provider))
end
return { 1, epoch, position }
