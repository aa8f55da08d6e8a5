-- SPDX-License-Identifier: Apache-2.0
-- Stores what consumers hold in another Placement, all of them or none, as verbs/importing.py does.
-- ARGV: log length, the request id that marks imported claims, 1 to replace others too, the largest
--       generation, then for each consumer: name,
--       generation, allocations as JSON or '' to end them, the claim's further JSON members
-- Returns: nothing if it is done; else why it is refused: kind, consumer, provider or '', the consumer's generation or ''
--@ args log_length import_request overwrite generation
--@ include _partition
--@ include _reach
local EXPIRE_BATCH = 1000 -- claims past their deadline that are ended first, at most
expire(EXPIRE_BATCH)

local base = tonumber(redis.call('HGET', K.meta, 'generation_base') or 0)
local imports = {}
for i = REST, #ARGV, 4 do
  imports[#imports + 1] = {
    consumer = ARGV[i], generation = ARGV[i + 1], text = ARGV[i + 2], members = ARGV[i + 3],
    allocations = ARGV[i + 2] ~= '' and cjson.decode(ARGV[i + 2]) or {},
    live = live_claim(redis.call('HGET', K.claims, ARGV[i])),
  }
end

local function consumer_refusal(item)
  local live = item.live
  if has_unverified(item.consumer) or live and live.host ~= '@api' then
    return { 'owner', item.consumer, '', '' }
  elseif live and A.overwrite ~= '1' and live.request_id ~= A.import_request then
    return { 'consumer', item.consumer, '', int(math.max(live.generation, base)) }
  end
end

local function unknown_provider(item)
  local unknown = nil
  for provider in pairs(item.allocations) do
    if redis.call('HEXISTS', K.capacity, provider) == 0 and (not unknown or provider < unknown) then
      unknown = provider
    end
  end
  return unknown
end

local function refusal()
  for _, item in ipairs(imports) do
    local refused = consumer_refusal(item)
    if refused then
      return refused
    end
  end
  for _, item in ipairs(imports) do
    local provider = unknown_provider(item)
    if provider then
      return { 'provider', item.consumer, provider, '' }
    end
  end
end

local refused = refusal()
if refused then
  flush(false)
  return refused
end
reach(tonumber(A.generation))
for _, item in ipairs(imports) do
  local attempt = item.live and item.live.attempt or last_end(ends_of(item.consumer)) + 1
  if item.live then
    drop_claim(item.live)
  end
  if item.text ~= '' then
    local claim = cjson.decode('{' .. string.sub(item.members, 2) .. '}')
    claim.consumer, claim.state, claim.host, claim.allocations = item.consumer, 'confirmed', '@api', item.allocations
    add_claim(claim,
      '{"schema":1,"consumer":' .. quote(item.consumer) .. ',"attempt":' .. int(attempt) .. ',"generation":'
      .. item.generation .. ',"state":"confirmed","host":"@api","allocations":' .. item.text
      .. ',"alternates":"","request_id":' .. quote(A.import_request) .. item.members .. '}')
  end
end
for provider in pairs(claimed_providers) do
  claimed_providers[provider] = nil -- their generations are imported too
end
flush(true)
return {}
