-- SPDX-License-Identifier: Apache-2.0
-- Writes of a report's plan, whose rows are the remaining arguments. Include after _partition.
--@ keys eligible built children
local at = REST -- start of the next rows

-- Returns an iterator over the next `count` rows of `width` arguments each.
local function rows(count, width)
  local first, last = at, at + (tonumber(count) - 1) * width
  at = last + width
  return function()
    if first <= last then
      first = first + width
      return unpack(ARGV, first - width, first - 1)
    end
  end
end

local function drop_nodes(ids)
  if #ids > 0 then
    append('gone', cjson.encode(ids))
  end
  for _, id in ipairs(ids) do
    redis.call('HDEL', K.providers, id)
    redis.call('HDEL', K.capacity, id)
    redis.call('HDEL', K.changed, id)
    redis.call('HDEL', K.generations, id)
    redis.call('HDEL', K.built, id)
    if host_of(id) ~= id then -- a bare name is also its service host's
      redis.call('HDEL', K.eligible, id)
    end
    update_excess(id, sums_of(id), true)
    drop_idle_sums(id, sums_of(id))
  end
end

-- Writes and logs providers. Rows: id, document ('' removes the provider), capacity as JSON ('' if unchanged), number of
-- instances that it reports as built. Returns whether any capacity changed.
local function write_documents(documents)
  local body, gone, resized = {}, {}, {}
  for id, document, capacity, built in documents do
    if document == '' then
      gone[#gone + 1] = id
    else
      body[#body + 1] = quote(id) .. ':' .. document
      redis.call('HSET', K.providers, id, document)
      redis.call('HSET', K.built, id, built)
    end
    if capacity ~= '' then
      resized[#resized + 1] = id
      redis.call('HSET', K.capacity, id, capacity)
    end
  end
  if #body > 0 then
    append('provider', '{' .. table.concat(body, ',') .. '}')
  end
  for _, id in ipairs(resized) do
    redis.call('HSET', K.changed, id, int(position))
    update_excess(id, sums_of(id), true)
  end
  drop_nodes(gone)
  return #resized > 0
end

-- Writes the index of children. Rows: parent, child, 1 to add or 0 to remove.
local function write_links(links)
  for parent, child, added in links do
    if added == '1' then
      redis.call('ZADD', K.children, '0', parent .. '|' .. child)
    else
      redis.call('ZREM', K.children, parent .. '|' .. child)
    end
  end
end

-- Makes earlier decisions on the names in the remaining arguments stale. Call after the last log entry.
local function make_stale(has_new_capacity)
  for i = at, #ARGV do
    redis.call('HSET', K.eligible, ARGV[i], int(position))
  end
  if has_new_capacity or at <= #ARGV then
    redis.call('HSET', K.meta, 'vocabulary', int(position))
  end
end
