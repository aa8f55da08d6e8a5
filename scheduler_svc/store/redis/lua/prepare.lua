-- SPDX-License-Identifier: Apache-2.0
-- Prepares a claim for every intent of a batch, or for none: plans on sums with deltas, then writes.
-- ARGV: log length, epoch, position, lifetime in ms, number of alternates to store, the claims' common JSON members,
--       resources as JSON or '', group as JSON or '', generation of the group's partition or '', the group's members
--       that its claims may not name as JSON or '', decision record as JSON or '', request id, maximum number of
--       decisions, 0 if attempts that the store forgot may run else 1, 1 if the claims are final and the Placement
--       API's else 0,
--       then for each intent: consumer, attempt, attempt it replaces or 0, number of candidates that score about as
--       well as the first, number of candidates, and for each candidate, separated by spaces: its name, the position
--       as of which its sums were read if later, its allocations as JSON if they are not the resources
-- Returns: accepted 0|1, current 0|1, epoch, position, changed sums as JSON,
--          then for each intent: answer, host or '', alternates, deadline or '', verdicts (lists separated by spaces),
--          the claim's allocations as JSON, '' if they are the resources at its host;
--          nothing if it only ended claims past their deadline, and more of them are left: call it again
--@ args log_length epoch position ttl_ms alternates common resources group group_generation members record request_id project decision_bytes fresh final
--@ keys eligible pins
--@ include _partition
--@ include _forgotten
--@ include _decisions
--@ include _members
--@ include _moves
--@ include _candidates
--@ include _group_policy
--@ include _judge
local MAX_EXPIRED = 500 -- claims past their deadline that one call ends first
local ttl, alternates, common = tonumber(A.ttl_ms), tonumber(A.alternates), A.common
local final = A.final == '1'
local generation_base = final and tonumber(redis.call('HGET', K.meta, 'generation_base') or 0)

-- No claim past its deadline counts when candidates are judged.
local _, due = expire(MAX_EXPIRED)
if due == MAX_EXPIRED then
  flush(false)
  return {}
end

-- Returns the intents of the arguments, with their candidates as texts, and their consumers.
local function parse_intents()
  local intents, consumers, at = {}, {}, REST
  while at <= #ARGV do
    local first, count = at + 5, tonumber(ARGV[at + 4])
    intents[#intents + 1] = {
      consumer = ARGV[at], attempt = tonumber(ARGV[at + 1]), replaces = tonumber(ARGV[at + 2]),
      near = tonumber(ARGV[at + 3]), texts = { unpack(ARGV, first, first + count - 1) },
      answer = 'refused', verdicts = {},
    }
    consumers[#intents] = ARGV[at]
    batch_consumers[ARGV[at]] = true
    at = first + count
  end
  return intents, consumers
end

local intents, consumers = parse_intents()

local function reply(accepted, current, used)
  local out = { accepted, current, epoch, position, used }
  for _, intent in ipairs(intents) do
    local n = #out
    out[n + 1], out[n + 2], out[n + 3] = intent.answer, intent.host or '', intent.alternates or ''
    out[n + 4], out[n + 5] = intent.deadline_ms or '', table.concat(intent.verdicts, ' ')
    out[n + 6] = intent.allocations_text or ''
  end
  return out
end

if tonumber(A.epoch) ~= epoch then
  return reply(0, 0, flush(false))
end

local raw_claims = redis.call('HMGET', K.claims, unpack(consumers))
local raw_ends = redis.call('HMGET', K.ended, unpack(consumers))
local migrations = redis.call('HMGET', K.sources, unpack(consumers))
fetch_first(intents)

-- Returns why the attempt may not be prepared at all, or nil.
local function refusal_of(intent, live, ends)
  if intent.attempt <= last_end(ends) or (live and intent.attempt < live.attempt) then
    return 'ended'
  elseif live and intent.replaces ~= live.attempt then
    -- replacing a later attempt than the live one shows that the store forgot the live one's end
    return intent.replaces > live.attempt and 'closed' or 'conflict'
  elseif live and live.state == 'confirmed' then
    return 'confirmed'
  elseif has_unverified(intent.consumer) then
    return 'closed' -- a host reports that it runs another attempt, or a second copy
  elseif live then
    return not is_open(live.host) and 'closed' or nil
  end
  local forgotten = intent.replaces > 0 and not end_of(ends, int(intent.replaces))
  if (A.fresh == '0' or forgotten) and may_be_forgotten('*') then
    return 'closed'
  end
  intent.forgotten = forgotten
end

local function text_of(intent)
  return table.concat({ '{"schema":1,"consumer":', quote(intent.consumer), ',"attempt":', int(intent.attempt),
    ',"generation":', int(intent.generation), ',"state":"', intent.state, '","host":', quote(intent.host),
    ',"allocations":', intent.required_text, ',"alternates":', quote(intent.alternates), ',"created_ms":', clock_text,
    intent.deadline_ms and ',"deadline_ms":' .. int(intent.deadline_ms) or '',
    intent.migration and ',"migration":' .. quote(intent.migration) or '', common, '}' })
end

-- Makes a planned claim final, and the Placement API's: it adds to what the consumer held.
local function finish(intent, candidate)
  local former = intent.former
  intent.state, intent.deadline_ms = 'confirmed', nil
  intent.attempt = former and former.attempt or last_end(ends_of(intent.consumer)) + 1
  intent.generation = math.max(former and former.generation or 0, generation_base) + 1
  if former then
    intent.allocations = {}
    for _, allocations in ipairs({ candidate.required, former.allocations }) do
      for provider, amounts in pairs(allocations) do
        intent.allocations[provider] = amounts
      end
    end
    intent.required_text = cjson.encode(intent.allocations)
    intent.allocations_text = intent.required_text
  end
end

local function plan_claim(intent, index, candidate)
  local names = {}
  for i = index + 1, math.min(#intent.texts, index + alternates) do
    names[#names + 1] = read_candidate(intent.texts[i]).host
  end
  intent.host, intent.allocations, intent.required_text = candidate.host, candidate.required, candidate.required_text
  intent.state, intent.generation, intent.planned = 'prepared', 1, true
  intent.allocations_text = not candidate.flat and candidate.required_text or nil
  intent.alternates, intent.deadline_ms, intent.group = table.concat(names, ' '), now + ttl, group
  intent.answer = 'prepared'
  plan(intent, 1)
  if final then
    finish(intent, candidate)
  end
end

-- Answers an intent of a final claim that was made already or cannot be; plans the end of the consumer's membership on
-- the host that it leaves.
local function examine_final(intent, live)
  if live and not is_of_api(live) then
    intent.known, intent.answer, intent.host = true, 'conflict', live.host
  elseif has_unverified(intent.consumer) then
    intent.known, intent.answer = true, 'closed'
  elseif live and live.request_id == A.request_id then
    intent.known, intent.answer, intent.host, intent.alternates = true, 'prepared', live.host, live.alternates
    intent.attempt, intent.allocations_text = live.attempt, cjson.encode(live.allocations)
  elseif live then
    intent.former = live
    plan({ allocations = {}, group = live.group, host = live.host }, -1)
  end
end

-- Answers an intent whose attempt the store knows or refuses; plans the end of the claim that the others replace.
local function examine(i, intent)
  local live = live_claim(raw_claims[i])
  if final then
    return examine_final(intent, live)
  end
  local source = migrations[i] and source_of(intent.consumer)
  local ends = raw_ends[i] and cjson.decode(raw_ends[i]) or {}
  if raw_claims[i] and not live then
    ends = ends_of(intent.consumer) -- it ended just now
  end
  local has_moved = source and (intent.attempt == source.attempt or intent.replaces == source.attempt)
  if live and is_of_api(live) or has_moved then
    intent.known, intent.answer, intent.host = true, 'conflict', live and live.host
    return
  elseif source and intent.attempt < source.attempt then
    intent.known, intent.answer, intent.host = true, 'ended', live and live.host
    return
  end
  if live and live.attempt == intent.attempt then
    intent.known, intent.host = true, live.host
    intent.answer = is_expired(live) and 'closed' or 'prepared'
    if intent.answer == 'prepared' then
      intent.alternates, intent.deadline_ms = live.alternates, live.deadline_ms
      intent.allocations_text = cjson.encode(live.allocations)
    end
    return
  end
  intent.migration = migrations[i] or nil
  local answer = refusal_of(intent, live, ends)
  if answer then
    intent.known, intent.answer, intent.host = true, answer, live and live.host
    return
  end
  intent.ends = ends
  if live then
    intent.replaced = live
    plan(live, -1)
  end
end

-- Judges a candidate, and plans a claim on it if it fits.
local function try_candidate(intent, index)
  local candidate = read_candidate(intent.texts[index])
  if intent.former then
    candidate = without_providers(candidate, intent.former.allocations)
  end
  intent.verdicts[index] = judge(candidate)
  if intent.verdicts[index] == 'FITS' then
    plan_claim(intent, index, candidate)
    return true
  end
end

-- Plans a claim on the first candidate that fits. Near candidates that changed are tried after the unchanged ones: their
-- scores are out of date.
local function place(intent)
  local is_counted = group and group.policy == 'anti-affinity' and intent.ends
  source_host = is_counted and source_host_of(intent.consumer, group.id) or nil
  local last, changed = #intent.texts, {}
  local near = math.min(intent.near, last)
  for index = 1, near do
    if near > 1 and has_changed(read_candidate(intent.texts[index])) then
      intent.verdicts[index], changed[#changed + 1] = 'PASSED', index
    elseif try_candidate(intent, index) then
      return
    end
  end
  for _, index in ipairs(changed) do
    if try_candidate(intent, index) then
      return
    end
  end
  for index = near + 1, last do
    if try_candidate(intent, index) then
      return
    end
  end
end

-- What the batch ends is planned before anything is placed: then sums only grow, and a verdict but FITS is final.
for i, intent in ipairs(intents) do
  examine(i, intent)
end
local accepted, owner = 1, nil
for _, intent in ipairs(intents) do
  if not intent.known then
    place(intent)
  end
  if intent.answer ~= 'prepared' then
    accepted = 0
  end
end
for _, intent in ipairs(intents) do
  if accepted == 0 and intent.planned then
    intent.answer, intent.host, intent.alternates = 'refused', nil, nil
    intent.deadline_ms, intent.allocations_text = nil, nil
  elseif accepted == 1 then
    if intent.replaced then
      end_claim(intent.replaced, 'aborted')
    elseif intent.forgotten then
      add_tombstone(intent.consumer, intent.replaces, 'aborted')
    elseif intent.planned and intent.former then
      drop_claim(intent.former)
    end
    if intent.planned then
      owner = owner or cjson.decode('{' .. string.sub(common, 2) .. '}')
      intent.project, intent.user, intent.type = owner.project, owner.user, owner.type
      add_claim(intent, text_of(intent))
      note_return()
    end
  end
end
local used = flush(false)

if A.record ~= '' then
  local rows = {}
  for i, intent in ipairs(intents) do
    local tried = {}
    for n, verdict in ipairs(intent.verdicts) do
      tried[n] = '[' .. read_candidate(intent.texts[n]).quoted .. ',"' .. verdict .. '"]'
    end
    rows[i] = '{"consumer":' .. quote(intent.consumer) .. ',"answer":"' .. intent.answer .. '","host":'
      .. (intent.host and quote(intent.host) or 'null') .. ',"tried":[' .. table.concat(tried, ',') .. ']}'
  end
  record(A.request_id, A.project, string.sub(A.record, 1, -2) .. ',"at_ms":' .. clock_text .. ',"outcome":"'
    .. (accepted == 1 and 'selected' or 'refused') .. '","answered_position":' .. int(position)
    .. ',"verdicts":[' .. table.concat(rows, ',') .. ']}', tonumber(A.decision_bytes))
end
return reply(accepted, 1, used)
