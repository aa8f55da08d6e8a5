-- SPDX-License-Identifier: Apache-2.0
-- Prepares a claim for every intent of a batch, or for none: plans in memory, then writes. Keep in sync with
-- verbs/prepare.py.
-- ARGV: log length, epoch, position, lifetime in ms, number of alternates to store, common JSON members of the claims,
--       resources as JSON or '', group as JSON or '', generation of the group's home or '', further group members as
--       JSON or '' (their claims need not name the group), decision record as JSON or '', request id, project,
--       maximum bytes of decisions, 1 if no forgotten attempt may run else 0, 1 for final claims of the Placement API
--       else 0,
--       then per intent: consumer, attempt, replaced attempt or 0, migration or '', attempt at its source or 0, number
--       of near candidates, number of candidates,
--       then per candidate, space-separated: name, position of its sums if later than the decision's, '<' with the
--       number of claims that the node may have if it is limited, '~' with the number of its builds if it is limited,
--       allocations as JSON if they differ from the resources
-- Returns: accepted 0|1, current 0|1, epoch, position, changed sums as JSON,
--          then per intent: answer, host or '', alternates, deadline or '', verdicts (space-separated lists),
--          allocations as JSON, '' if they are the resources on its host;
--          or nothing: the script only expired claims, and more may be overdue; call again
--@ args log_length epoch position ttl_ms alternates common resources group group_generation members record request_id project decision_bytes fresh final
--@ keys eligible built pins
--@ include _partition
--@ include _forgotten
--@ include _decisions
--@ include _members
--@ include _moves
--@ include _candidates
--@ include _group_policy
--@ include _judge
local MAX_EXPIRED = 500 -- claims expired at the start of one call
local ttl, alternates, common = tonumber(A.ttl_ms), tonumber(A.alternates), A.common
local final = A.final == '1'
local generation_base = final and tonumber(redis.call('HGET', K.meta, 'generation_base') or 0)

-- Expire overdue claims first, so that they do not count when candidates are judged.
local _, due = expire(MAX_EXPIRED)
if due == MAX_EXPIRED then
  flush(false)
  return {}
end

-- Parses the intents, but not their candidates; returns the intents and their consumers.
local function parse_intents()
  local intents, consumers, at = {}, {}, REST
  while at <= #ARGV do
    local first, count = at + 7, tonumber(ARGV[at + 6])
    intents[#intents + 1] = {
      consumer = ARGV[at], attempt = tonumber(ARGV[at + 1]), replaces = tonumber(ARGV[at + 2]),
      migration = ARGV[at + 3] ~= '' and ARGV[at + 3] or nil, source_attempt = tonumber(ARGV[at + 4]),
      near = tonumber(ARGV[at + 5]), texts = { unpack(ARGV, first, first + count - 1) },
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

local function is_of_other_move(intent, claim)
  if claim.instance then
    return claim.consumer ~= intent.migration or claim.attempt ~= intent.source_attempt
  end
  if claim.attempt == intent.source_attempt or not (intent.migration or claim.attempt == intent.attempt) then
    return false
  end
  return claim.migration ~= intent.migration or (claim.source_attempt or 0) ~= intent.source_attempt
end

-- Returns the answer if the intent's move contradicts the store, or nil. 'closed': audits may correct the store.
local function contradiction_of(intent, claims)
  if intent.migration and ends_of(intent.migration)['1'] then
    return 'conflict'
  end
  local contradicts, is_certain = false, true
  for _, claim in pairs(claims) do
    if is_of_other_move(intent, claim) then
      contradicts, is_certain = true, is_certain and is_open(claim.host) and not claim.orphan_ms
    end
  end
  if contradicts then
    return is_certain and unknown_answer(intent.consumer) == 'unknown' and 'conflict' or 'closed'
  end
end

-- Returns why no candidate may get the attempt, or nil.
local function refusal_of(intent, live, source, ends)
  local contradiction = contradiction_of(intent, { live = live, source = source })
  local is_late = (live and intent.attempt < live.attempt) or (source and intent.attempt < source.attempt)
  if contradiction then
    return contradiction
  elseif is_late or intent.attempt <= last_end(ends) then
    return 'ended'
  elseif live and intent.replaces ~= live.attempt then
    -- an intent that replaces an attempt later than the live one proves that the store forgot the live claim's end, or
    -- a move that ended with the live claim again: the host's report decides
    local is_reported = live.state == 'confirmed' and not live.orphan_ms and is_open(live.host)
    return intent.replaces > live.attempt and not is_reported and 'closed' or 'conflict'
  elseif live and live.state == 'confirmed' then
    return 'confirmed'
  elseif has_unverified(intent.consumer) then
    return 'closed' -- a host reports another attempt, or a copy of this one
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
    intent.migration and ',"migration":' .. quote(intent.migration) .. ',"source_attempt":' .. int(intent.source_attempt)
    or '', common, '}' })
end

-- Turns a planned claim into a confirmed claim of the API, and adds the consumer's former allocations.
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

-- Answers a final claim that exists or cannot be made. Otherwise plans to replace the consumer's former claim, whose
-- allocations still count: the new claim extends them.
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

-- Answers a known or refused attempt. Otherwise plans the end of the attempt that it replaces.
local function examine(i, intent)
  local live = live_claim(raw_claims[i])
  if final then
    return examine_final(intent, live)
  end
  local source = migrations[i] and source_of(intent.consumer) or nil
  local ends = raw_ends[i] and cjson.decode(raw_ends[i]) or {}
  if raw_claims[i] and not live then
    ends = ends_of(intent.consumer) -- the claim has just expired
  end
  local has_moved = source and (intent.attempt == source.attempt or intent.replaces == source.attempt)
  if live and is_of_api(live) or has_moved then
    intent.known, intent.answer, intent.host = true, 'conflict', live and live.host
    return
  end
  if live and live.attempt == intent.attempt and not is_of_other_move(intent, live) then
    intent.known, intent.host = true, live.host
    intent.answer = is_expired(live) and 'closed' or 'prepared'
    if intent.answer == 'prepared' then
      intent.alternates, intent.deadline_ms = live.alternates, live.deadline_ms
      intent.allocations_text = cjson.encode(live.allocations)
    end
    return
  end
  local answer = refusal_of(intent, live, source, ends)
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

-- Judges a candidate. If it fits, plans a claim on it and returns true.
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

-- Plans a claim on the first candidate that fits. Near candidates that changed since the decision come after the other
-- near ones, because their scores are out of date.
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

-- Plan all ends before any new claim, so that sums only grow and a rejection is final.
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
      add_tombstone(intent.consumer, intent.replaces, 'aborted', 0)
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
