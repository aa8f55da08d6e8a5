-- SPDX-License-Identifier: Apache-2.0
-- Claim for every intent of a batch, or for none: plan on sums with deltas, then write.
-- ARGV: log length, epoch, position, lifetime in ms, alternates to keep, the claims' common JSON members,
--       resources as JSON or '', group as JSON or '', decision record as JSON or '', request id, most decisions,
--       then for each intent: consumer, attempt, attempt it replaces or 0, how many candidates are about as good as
--       the first, number of candidates, and for each candidate, apart by spaces: its name, the position as of which
--       its sums were known where that is later, its allocations as JSON where they are not the resources
-- Returns: accepted 0|1, current 0|1, epoch, position, sums touched as JSON,
--          then for each intent: answer, host or '', alternates, deadline or '', verdicts; names apart by spaces;
--          what a prepared claim holds as JSON, '' where it is the resources at its host
--@ keys eligible
--@ include _partition
--@ include _forgotten
--@ include _decisions
--@ include _judge
local LAZY = '32' -- claims past their deadline that one prepare tidies on its way
local ttl, alternates, common = tonumber(ARGV[4]), tonumber(ARGV[5]), ARGV[6]

expire(LAZY)
local intents, consumers = {}, {}
local at = 12
while at <= #ARGV do
  local last = at + 4 + tonumber(ARGV[at + 4])
  intents[#intents + 1] = { consumer = ARGV[at], attempt = tonumber(ARGV[at + 1]), replaces = tonumber(ARGV[at + 2]),
                            near = tonumber(ARGV[at + 3]), first = at + 5, last = last, answer = 'refused', verdicts = {} }
  consumers[#intents] = ARGV[at]
  at = last + 1
end

local function reply(accepted, current, used)
  local out = { accepted, current, epoch, position, used }
  for _, one in ipairs(intents) do
    local n = #out
    out[n + 1], out[n + 2], out[n + 3] = one.answer, one.host or '', one.alternates or ''
    out[n + 4], out[n + 5], out[n + 6] = one.deadline_ms or '', table.concat(one.verdicts, ' '), one.held or ''
  end
  return out
end

if tonumber(ARGV[2]) ~= epoch then
  return reply(0, 0, flush(false))
end

local raw_claims = redis.call('HMGET', K.claims, unpack(consumers))
local raw_ends = redis.call('HMGET', K.ended, unpack(consumers))
fetch_first(intents)

-- Why the attempt may not be prepared at all, or nil.
local function barred(one, live, ends)
  if one.attempt <= last_end(ends) or (live and one.attempt < live.attempt) then
    return 'ended'
  elseif live and one.replaces ~= live.attempt then
    -- who replaces a later attempt than we know of tells that this one's end was forgotten
    return one.replaces > live.attempt and 'closed' or 'conflict'
  elseif live and live.state == 'confirmed' then
    return 'confirmed'
  elseif live then
    return not is_open(live.host) and 'closed' or nil
  elseif one.replaces > 0 and not end_of(ends, int(one.replaces)) then
    if may_be_forgotten(nil, ends, '') then
      return 'closed'
    end
    one.forgotten = true
  end
end

local function text_of(one)
  return table.concat({ '{"schema":1,"consumer":', quote(one.consumer), ',"attempt":', int(one.attempt),
    ',"generation":1,"state":"prepared","host":', quote(one.host), ',"allocations":', one.asked_text,
    ',"alternates":', quote(one.alternates), ',"created_ms":', now_text, ',"deadline_ms":', int(one.deadline_ms), common, '}' })
end

local function take(one, index, candidate)
  local names = {}
  for i = one.first + index, math.min(one.last, one.first + index + alternates - 1) do
    names[#names + 1] = name_of(ARGV[i])
  end
  one.host, one.allocations, one.asked_text = candidate.host, candidate.asked, candidate.asked_text
  one.state, one.planned, one.held = 'prepared', true, not candidate.flat and candidate.asked_text or nil
  one.alternates, one.deadline_ms, one.group = table.concat(names, ' '), now + ttl, group
  one.answer = 'prepared'
  plan(one, 1)
end

-- Take the candidate if it fits.
local function serve(one, index, candidate)
  one.verdicts[index] = judge(candidate)
  if one.verdicts[index] == 'FITS' then
    take(one, index, candidate)
    return true
  end
end

local function plan_intent(i, one)
  local live = settle(raw_claims[i])
  local ends = raw_ends[i] and cjson.decode(raw_ends[i]) or {}
  if raw_claims[i] and not live then
    ends = ends_of(one.consumer) -- it ended just now
  end
  if live and live.attempt == one.attempt then
    one.host = live.host
    one.answer = is_past(live) and 'closed' or 'prepared'
    if one.answer == 'prepared' then
      one.alternates, one.deadline_ms, one.held = live.alternates, live.deadline_ms, cjson.encode(live.allocations)
    end
    return
  end
  local answer = barred(one, live, ends)
  if answer then
    one.answer, one.host = answer, live and live.host
    return
  end
  if live then
    one.replaced = live
    plan(live, -1)
  end
  -- A near one that changed waits until the others have been tried: it is no longer as good as it was.
  local last, touched = one.last - one.first + 1, {}
  local near = math.min(one.near, last)
  for index = 1, near do
    local candidate = read_candidate(one.first + index - 1)
    if near > 1 and has_changed(candidate) then
      one.verdicts[index], touched[#touched + 1] = 'PASSED', index
    elseif serve(one, index, candidate) then
      return
    end
  end
  for _, index in ipairs(touched) do
    if serve(one, index, read_candidate(one.first + index - 1)) then
      return
    end
  end
  for index = near + 1, last do
    if serve(one, index, read_candidate(one.first + index - 1)) then
      return
    end
  end
end

local accepted = 1
for i, one in ipairs(intents) do
  plan_intent(i, one)
  if one.answer ~= 'prepared' then
    accepted = 0
  end
end
for _, one in ipairs(intents) do
  if accepted == 0 and one.planned then
    one.answer, one.host, one.alternates, one.deadline_ms, one.held = 'refused', nil, nil, nil, nil
  elseif accepted == 1 then
    if one.replaced then
      end_claim(one.replaced, 'aborted')
    elseif one.forgotten then
      bury(one.consumer, one.replaces, 'aborted')
    end
    if one.planned then
      hold(one, text_of(one))
    end
  end
end
local used = flush(false)

if ARGV[9] ~= '' then
  local rows = {}
  for i, one in ipairs(intents) do
    local tried = {}
    for n, verdict in ipairs(one.verdicts) do
      tried[n] = '[' .. quote(name_of(ARGV[one.first + n - 1])) .. ',"' .. verdict .. '"]'
    end
    rows[i] = '{"consumer":' .. quote(one.consumer) .. ',"answer":"' .. one.answer .. '","host":'
      .. (one.host and quote(one.host) or 'null') .. ',"tried":[' .. table.concat(tried, ',') .. ']}'
  end
  record(ARGV[10], string.sub(ARGV[9], 1, -2) .. ',"at_ms":' .. now_text .. ',"outcome":"'
    .. (accepted == 1 and 'selected' or 'refused') .. '","answered_position":' .. int(position)
    .. ',"verdicts":[' .. table.concat(rows, ',') .. ']}', tonumber(ARGV[11]))
end
return reply(accepted, 1, used)
