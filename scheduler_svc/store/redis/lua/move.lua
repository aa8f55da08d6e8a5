-- SPDX-License-Identifier: Apache-2.0
-- Transfers a confirmed claim to another consumer; no sum changes. A refusal ends the new attempt, so that a repeated
-- message moves nothing.
-- ARGV: log length, consumer, attempt, new consumer, new attempt, new consumer's type
-- Returns: 1 if the answer is about the new consumer, else 0; answer; host or ''
--@ args log_length consumer attempt new_consumer new_attempt new_type
--@ include _partition
--@ include _find
--@ include _forgotten
local consumer, attempt, to, to_attempt = A.consumer, A.attempt, A.new_consumer, tonumber(A.new_attempt)
local origin = consumer .. '@' .. attempt

local function transfer(claim)
  end_claim(claim, MOVED .. to .. '@' .. int(to_attempt))
  claim.consumer, claim.attempt, claim.type = to, to_attempt, A.new_type
  claim.generation, claim.orphan_ms, claim.moved_from = 1, nil, origin
  add_claim(claim, cjson.encode(claim))
end

local function recorded_claim(name)
  local raw = redis.call('HGET', K.claims, name)
  return raw and cjson.decode(raw) or nil
end

local function move()
  local existing = live_claim(redis.call('HGET', K.claims, to))
  if existing and existing.attempt == to_attempt and existing.moved_from == origin then
    return { 1, 'confirmed', existing.host }
  end
  local ends = ends_of(to)
  local ended = resolve_end(end_of_attempt(to, A.new_attempt))
  if ended then
    return { 1, ended, '' }
  end
  local claim, answer = find_claim(consumer, attempt, '')
  if claim and is_of_api(claim) then
    return { 0, 'foreign', claim.host }
  elseif claim and claim.state == 'confirmed' and not existing then
    transfer(claim)
    return { 1, 'confirmed', claim.host }
  elseif not claim and not answer and may_run(consumer, recorded_claim(consumer), ends_of(consumer)) then
    return { 0, 'closed', '' }
  elseif may_run(to, existing, ends) then
    return { 1, 'closed', '' }
  elseif not existing or existing.attempt < to_attempt then
    add_tombstone(to, to_attempt, 'aborted')
  end
  if not claim then
    return { 0, answer or 'unknown', '' }
  elseif claim.state ~= 'confirmed' then
    return { 0, claim.state, claim.host }
  end
  return { 1, 'conflict', existing.host }
end

local answer = move()
flush(false)
return answer
