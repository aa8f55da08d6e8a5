-- SPDX-License-Identifier: Apache-2.0
-- Stores what consumers hold in another Placement, all of them or none, as verbs/importing.py does.
-- ARGV: log length, the request id that marks imported claims, 1 to replace others too, the largest
--       generation, then for each consumer: name,
--       generation, allocations as JSON or '' to end them, the claim's further JSON members
-- Returns: nothing if it is done; else why it is refused: kind, consumer, provider or '', the consumer's generation or ''
--@ args log_length import_request overwrite generation
--@ include _partition
--@ include _api_claim
--@ include _reach
local EXPIRE_BATCH = 1000 -- claims past their deadline that are ended first, at most
expire(EXPIRE_BATCH)

local base = tonumber(redis.call('HGET', K.meta, 'generation_base') or 0)
local imports = {}
local consumers = {}
for i = REST, #ARGV, 4 do
  consumers[#consumers + 1] = ARGV[i]
end
local raws = redis.call('HMGET', K.claims, unpack(consumers))
for i = REST, #ARGV, 4 do
  imports[#imports + 1] = {
    consumer = ARGV[i], generation = ARGV[i + 1], text = ARGV[i + 2], members = ARGV[i + 3],
    allocations = ARGV[i + 2] ~= '' and cjson.decode(ARGV[i + 2]) or {},
    live = live_claim(raws[#imports + 1]),
  }
end

local function consumer_refusal(item)
  local live = item.live
  if has_unverified(item.consumer) or live and not is_of_api(live) then
    return { 'owner', item.consumer, '', '' }
  elseif live and A.overwrite ~= '1' and live.request_id ~= A.import_request then
    return { 'consumer', item.consumer, '', int(math.max(live.generation, base)) }
  end
end

local has_capacity = {} -- by provider

local function is_known(provider)
  if has_capacity[provider] == nil then
    has_capacity[provider] = redis.call('HEXISTS', K.capacity, provider) == 1
  end
  return has_capacity[provider]
end

local function unknown_provider(item)
  local unknown = nil
  for provider in pairs(item.allocations) do
    if not is_known(provider) and (not unknown or provider < unknown) then
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

-- Returns whether a client's claim holds from the same providers, so that the indexes have it already.
local function has_same_places(live, allocations)
  if live.host ~= '@api' or live.state ~= 'confirmed' then
    return false
  end
  for provider in pairs(allocations) do
    if not live.allocations[provider] then
      return false
    end
  end
  for provider in pairs(live.allocations) do
    if not allocations[provider] then
      return false
    end
  end
  return true
end

-- Writes the claim `text` in place of a live one that is indexed under the same places.
local function rewrite_claim(live, claim, text)
  redis.call('HSET', K.claims, claim.consumer, text)
  for _, sign in ipairs({ -1, 1 }) do
    local counted = sign < 0 and live or claim
    count(counted, sign)
    tally(counted, sign)
  end
end

local refused = refusal()
if refused then
  flush(false)
  return refused
end
reach(tonumber(A.generation))
for _, item in ipairs(imports) do
  local live, members = item.live, ',"request_id":' .. quote(A.import_request) .. item.members
  if live and item.text ~= '' and has_same_places(live, item.allocations) then
    rewrite_claim(live, api_claim(item, item.generation, members))
  else
    if live then
      drop_claim(live)
    end
    if item.text ~= '' then
      add_api_claim(item, item.generation, members)
    end
  end
end
for provider in pairs(claimed_providers) do
  claimed_providers[provider] = nil -- their generations are imported too
end
flush(true)
return {}
