-- SPDX-License-Identifier: Apache-2.0
-- Hand a confirmed claim over to another consumer; no sum changes.
-- ARGV: log length, consumer, attempt, new consumer, new attempt, new consumer's type
-- Returns: 1 when the answer is about the new consumer, else 0; answer; host or ''
--@ include _partition
--@ include _find
local consumer, attempt, to, to_attempt = ARGV[2], ARGV[3], ARGV[4], ARGV[5]
local origin = consumer .. '@' .. attempt
local there = settle(redis.call('HGET', K.claims, to))
local claim, answer = find(consumer, attempt, '')
local about_new, host = 1, claim and claim.host or ''
if there and there.attempt == tonumber(to_attempt) and there.moved_from == origin then
  answer, host = 'confirmed', there.host
elseif not claim then
  about_new, answer = 0, answer or 'unknown'
elseif claim.state ~= 'confirmed' then
  about_new, answer = 0, claim.state
elseif there then
  answer, host = 'conflict', there.host
elseif tonumber(to_attempt) <= last_end(ends_of(to)) then
  answer, host = 'ended', ''
else
  end_claim(claim, 'released')
  claim.consumer, claim.attempt, claim.type = to, tonumber(to_attempt), ARGV[6]
  claim.generation, claim.orphan_ms, claim.moved_from = 1, nil, origin
  hold(claim, cjson.encode(claim))
  answer = 'confirmed'
end
flush(false)
return { about_new, answer, host }
