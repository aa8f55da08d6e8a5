-- SPDX-License-Identifier: Apache-2.0
-- What scripts that carry out a plan share: rows of arguments, the comparison with what the plan read, and its writes.
-- Included after _partition.
--@ keys eligible
--@ include _nodes
--@ include _children
local at = REST -- where the next rows begin

-- Returns a function that returns the next row of `width` arguments, or nil after `count` of them.
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

-- Returns whether providers are as they were read in an epoch. Rows: id, document as read or '', number of children as
-- read or '' if the plan has not read them, increments of the generation as read or '' if it has not.
local function is_as_read(read_epoch, providers)
  local same = tonumber(read_epoch) == epoch
  for id, document, children, increments in providers do
    same = same and (redis.call('HGET', K.providers, id) or '') == document
      and (children == '' or count_children(id) == tonumber(children))
      and (increments == '' or (redis.call('HGET', K.generations, id) or '0') == increments)
  end
  return same
end

-- Writes and logs documents, and returns whether there is any new capacity. Rows: id, document or '' if the provider is
-- gone, capacity as JSON or '' if unchanged.
local function write_documents(documents)
  local body, gone, resized = {}, {}, {}
  for id, document, capacity in documents do
    if document == '' then
      gone[#gone + 1] = id
    else
      body[#body + 1] = quote(id) .. ':' .. document
      redis.call('HSET', K.providers, id, document)
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

-- Writes entries of children. Rows: parent, child, 1 if it is added, 0 if it is removed.
local function write_links(links)
  for parent, child, added in links do
    set_child(parent, child, added)
  end
end

-- Makes earlier decisions stale on the names that are the rest of the arguments; not before the last log entry.
local function make_stale(has_new_capacity)
  for i = at, #ARGV do
    redis.call('HSET', K.eligible, ARGV[i], int(position))
  end
  if has_new_capacity or at <= #ARGV then
    redis.call('HSET', K.meta, 'vocabulary', int(position))
  end
end
