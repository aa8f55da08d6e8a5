-- SPDX-License-Identifier: Apache-2.0
-- Apply a service host's report that was compared with what is stored, unless another came between.
-- ARGV: log length, service host, what to do: 'look' | 'beat' | 'apply', document of a new service as JSON,
--       the last report as it was read or '', this report, all nodes as JSON, number of changed nodes,
--       1 where a sign of life says who lives else 0;
--       for each changed node: id, document as JSON, capacity as JSON or '' where it is as before,
--       1 where its eligibility changed else 0; then the nodes that are gone
-- Returns: done 0|1 (0: another report came between), epoch, position, audited in this epoch 0|1
--@ keys reports nodes
--@ include _partition
--@ include _beat
--@ include _nodes
local host, mode = ARGV[2], ARGV[3]
if mode == 'apply' and (redis.call('HGET', K.reports, host) or '') ~= ARGV[5] then
  return { 0, epoch, position, 0 }
end
if mode ~= 'look' then
  beat(host, ARGV[4], ARGV[9])
end

local function change_node(id, document, capacity, eligible)
  redis.call('HSET', K.providers, id, document)
  if eligible == '1' then
    redis.call('HSET', K.eligible, id, int(position))
  end
  if capacity ~= '' then
    redis.call('HSET', K.capacity, id, capacity)
    redis.call('HSET', K.changed, id, int(position))
    weigh(id, sums_of(id), true)
  end
end

local function apply()
  local changes, body, gone = tonumber(ARGV[8]), {}, {}
  for i = 1, changes do
    local at = 6 + 4 * i
    body[i] = quote(ARGV[at]) .. ':' .. ARGV[at + 1]
  end
  if changes > 0 then
    append('provider', '{' .. table.concat(body, ',') .. '}')
  end
  for i = 1, changes do
    local at = 6 + 4 * i
    change_node(ARGV[at], ARGV[at + 1], ARGV[at + 2], ARGV[at + 3])
  end
  for i = 10 + 4 * changes, #ARGV do
    gone[#gone + 1] = ARGV[i]
  end
  drop_nodes(gone)
  redis.call('HSET', K.reports, host, ARGV[6])
  if changes > 0 or #gone > 0 then
    redis.call('HSET', K.nodes, host, ARGV[7])
  end
end

if mode == 'apply' then
  apply()
end
return { 1, epoch, position, is_open(host) and 1 or 0 }
