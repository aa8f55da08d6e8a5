-- SPDX-License-Identifier: Apache-2.0
-- Applies a service host's report, already compared with the stored documents, unless another report came between.
-- ARGV: log length, service host, what to do: 'look' | 'beat' | 'apply', document of a new service as JSON,
--       the last report as read or '', this report, all nodes as JSON, 1 if heartbeats decide liveness else 0,
--       number of changed nodes, number of nodes whose eligibility changed;
--       for each changed node: id, document as JSON, capacity as JSON or '' if unchanged;
--       then the nodes whose eligibility changed, then the removed nodes
-- Returns: done 0|1 (0: another report came between), epoch, position, audited in this epoch 0|1
--@ args log_length host mode service read_report report nodes beats_decide changes stale
--@ keys reports nodes
--@ include _partition
--@ include _beat
--@ include _nodes
local host, mode = A.host, A.mode
if mode == 'apply' and (redis.call('HGET', K.reports, host) or '') ~= A.read_report then
  return { 0, epoch, position, 0 }
end
if mode ~= 'look' then
  beat(host, A.service, A.beats_decide)
end

local function change_node(id, document, capacity)
  redis.call('HSET', K.providers, id, document)
  if capacity ~= '' then
    redis.call('HSET', K.capacity, id, capacity)
    redis.call('HSET', K.changed, id, int(position))
    update_excess(id, sums_of(id), true)
  end
end

local function apply()
  local changes, stale, body, removed = tonumber(A.changes), tonumber(A.stale), {}, {}
  for i = 1, changes do
    local at = REST + 3 * (i - 1)
    body[i] = quote(ARGV[at]) .. ':' .. ARGV[at + 1]
  end
  if changes > 0 then
    append('provider', '{' .. table.concat(body, ',') .. '}')
  end
  for i = 1, changes do
    local at = REST + 3 * (i - 1)
    change_node(ARGV[at], ARGV[at + 1], ARGV[at + 2])
  end
  for i = REST + 3 * changes + stale, #ARGV do
    removed[#removed + 1] = ARGV[i]
  end
  drop_nodes(removed)
  for i = REST + 3 * changes, REST - 1 + 3 * changes + stale do
    redis.call('HSET', K.eligible, ARGV[i], int(position)) -- not before the position of its last log entry
  end
  redis.call('HSET', K.reports, host, A.report)
  if changes > 0 or #removed > 0 then
    redis.call('HSET', K.nodes, host, A.nodes)
  end
end

if mode == 'apply' then
  apply()
end
return { 1, epoch, position, is_open(host) and 1 or 0 }
