-- SPDX-License-Identifier: Apache-2.0
-- Writes the changes of a Python verb, unless data that the verb read has changed since. The plan has the epoch and
-- position at which the verb began, and these sections, in which commands and positions name a key by its word:
--   reads       commands that the verb ran, each after its answer: the SHA-1 of the answer's NUL-joined texts ('' for a
--               missing field), or a number
--   sizes       sets that the verb read, and whether each had members
--   rooms       provider, class, largest sum with which the verb's amount fits, whether it did fit
--   entries     log entries: position, kind, body; for changed sums, the body is whether to flag excess, and claims,
--               each with 1 to add it or -1 to subtract it
--   positions   fields to set to a position: word, name, position
--   writes      commands, in order
--   excess      providers to compare with their capacity, and whether to flag new excess
--   idle        providers whose sums may be dropped
-- Positions in the plan shift by the number of entries logged since the verb began.
-- ARGV: log length, plan as JSON
-- Returns: done 0|1, epoch, position
--@ args log_length plan
--@ keys reports services alive awaited beats clock_offsets eligible built api_changed children provider_names
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
