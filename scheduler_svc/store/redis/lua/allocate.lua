-- SPDX-License-Identifier: Apache-2.0
-- Replaces the allocations of all these consumers, or of none. Keep in sync with verbs/allocating.py.
-- ARGV: log length, then per consumer: name, expected generation ('none': no allocations, 'any': unchecked),
--       allocations as JSON ('' ends them), 1 to increase the generations of its former providers if it ends else 0,
--       1 and the new type or 0 and '', further JSON members of the claim
-- Returns: nothing if done; otherwise the refusal: kind, consumer, provider or '', resource classes or '',
--          the consumer's generation or '' without allocations
--@ args log_length
--@ include _partition
--@ include _reported
--@ include _sorted
local base = tonumber(redis.call('HGET', K.meta, 'generation_base') or 0)
local changes, deltas = {}, {}
local capacities = {} -- capacities read so far, by provider

local function plan(allocations, sign)
  for provider, amounts in pairs(allocations) do
    deltas[provider] = deltas[provider] or {}
    for class, amount in pairs(amounts) do
      deltas[provider][class] = (deltas[provider][class] or 0) + sign * amount
    end
  end
end

local function read_changes()
  for i = REST, #ARGV, 7 do
    local live = live_claim(redis.call('HGET', K.claims, ARGV[i]))
    local change = {
      consumer = ARGV[i], expected = ARGV[i + 1], text = ARGV[i + 2], bump = ARGV[i + 3] == '1',
      type = ARGV[i + 4] == '1' and ARGV[i + 5] or live and live.type or '', members = ARGV[i + 6], live = live,
      allocations = ARGV[i + 2] ~= '' and cjson.decode(ARGV[i + 2]) or {},
      generation = live and math.max(live.generation, base) or nil,
    }
    changes[#changes + 1] = change
    plan(change.allocations, 1)
    if live then
      plan(live.allocations, -1)
    end
  end
end

local function is_of_agent(live)
  return live and not is_of_api(live)
end

-- Returns whether a change may replace the live claim. A confirmed claim of an agent can be changed with its
-- generation, but not ended or given a different type, and not at all as the source of a move.
local function is_replaceable(change)
  if not is_of_agent(change.live) then
    return true
  end
  local is_known = not change.live.instance and change.live.state == 'confirmed' and change.expected ~= 'any'
  return is_known and change.text ~= '' and change.type == change.live.type
end

-- Returns the first provider and its classes where the change is below the guest's use of its claim; or nil.
local function lowered_amounts(change)
  local reported = reported_allocations(change.live)
  for _, provider in ipairs(sorted_keys(reported)) do
    local claim_amounts, remaining = change.live.allocations[provider] or {}, change.allocations[provider] or {}
    local classes = {}
    for _, class in ipairs(sorted_keys(reported[provider])) do
      if (remaining[class] or 0) < math.min(reported[provider][class], claim_amounts[class] or 0) then
        classes[#classes + 1] = class
      end
    end
    if #classes > 0 then
      return provider, table.concat(classes, ',')
    end
  end
end

-- Returns the kind of refusal, and for 'guest' the provider and the classes.
local function consumer_refusal(change)
  if has_unverified(change.consumer) or not is_replaceable(change) then
    return 'owner'
  elseif change.expected ~= 'any' and change.expected ~= (change.generation and int(change.generation) or 'none') then
    return 'consumer'
  elseif is_of_agent(change.live) then
    local provider, classes = lowered_amounts(change)
    return provider and 'guest', provider, classes
  end
end

local function amount_refusal(provider, class, amount)
  local unit = capacities[provider][class]
  if not unit then
    return 'inventory'
  elseif type(unit) == 'table' and (amount < unit[2] or amount > unit[3] or amount % unit[4] ~= 0) then
    return 'units'
  elseif deltas[provider][class] <= 0 then
    return nil
  elseif not is_open(provider) then
    return 'closed'
  end
  return (sums_of(provider)[class] or 0) + deltas[provider][class] > capacity_in(unit) and 'capacity' or nil
end

-- Returns the refusal that the script returns, or nil if all changes are allowed.
local function refusal()
  for _, change in ipairs(changes) do
    local kind, provider, classes = consumer_refusal(change)
    if kind then
      return { kind, change.consumer, provider or '', classes or '', change.generation and int(change.generation) or '' }
    end
  end
  for _, change in ipairs(changes) do
    for _, provider in ipairs(sorted_keys(change.allocations)) do
      local raw = not capacities[provider] and redis.call('HGET', K.capacity, provider)
      capacities[provider] = capacities[provider] or raw and cjson.decode(raw)
      if not capacities[provider] then
        return { 'provider', change.consumer, provider, '', '' }
      end
    end
  end
  for _, change in ipairs(changes) do
    for _, provider in ipairs(sorted_keys(change.allocations)) do
      for _, class in ipairs(sorted_keys(change.allocations[provider])) do
        local kind = amount_refusal(provider, class, change.allocations[provider][class])
        if kind then
          return { kind, change.consumer, provider, class, '' }
        end
      end
    end
  end
end

-- Decodes further JSON members of a claim, each preceded by a comma.
local function decode_members(members)
  return cjson.decode('{' .. string.sub(members, 2) .. '}')
end

-- Adds an API-owned claim, after the consumer's former claim was dropped.
local function add(change)
  local attempt = change.live and change.live.attempt or last_end(ends_of(change.consumer)) + 1
  local members = ',"type":' .. quote(change.type) .. change.members
  local claim = decode_members(members)
  claim.consumer, claim.state, claim.host = change.consumer, 'confirmed', '@api'
  claim.allocations = change.allocations
  add_claim(claim, '{"schema":1,"consumer":' .. quote(change.consumer) .. ',"attempt":' .. int(attempt)
            .. ',"generation":' .. int((change.generation or base) + 1) .. ',"created_ms":' .. clock_text
            .. ',"state":"confirmed","host":"@api","allocations":' .. change.text .. ',"alternates":""' .. members .. '}')
end

-- Adds an agent's claim again with new allocations, after it was dropped. It keeps its host and attempt.
local function add_again(change)
  local claim, owner = change.live, decode_members(change.members)
  set_allocations(claim, change.allocations, reported_allocations(claim))
  claim.generation, claim.type = change.generation + 1, change.type
  claim.project, claim.user = owner.project, owner.user
  add_claim(claim, cjson.encode(claim))
end

-- Carries out the changes. flush() then writes the sums.
local function replace_all()
  for _, change in ipairs(changes) do
    local freed = change.live and change.bump and change.live.allocations or {}
    if change.live then
      drop_claim(change.live)
    end
    if change.text ~= '' and is_of_agent(change.live) then
      add_again(change)
    elseif change.text ~= '' then
      add(change)
    end
    for provider in pairs(change.text ~= '' and change.allocations or freed) do
      claimed_providers[provider] = true
    end
  end
end

expire()
read_changes()
local refused = refusal()
if not refused then
  replace_all()
end
flush(false)
return refused or {}
