-- SPDX-License-Identifier: Apache-2.0
-- The Placement API's providers below others.
--@ keys children

local function count_children(id)
  return redis.call('ZLEXCOUNT', K.children, '[' .. id .. '|', '(' .. id .. '|\255')
end

-- Adds an entry, or removes it where `added` is not '1'.
local function set_child(parent, child, added)
  if added == '1' then
    redis.call('ZADD', K.children, '0', parent .. '|' .. child)
  else
    redis.call('ZREM', K.children, parent .. '|' .. child)
  end
end
