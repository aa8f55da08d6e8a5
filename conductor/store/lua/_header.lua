-- SPDX-License-Identifier: Apache-2.0
-- Common part of scripts: `now`, the store's own time in ms, and the header line of an instance record (see
-- documents.py). Versions stay strings: they have more digits than a Lua number holds.
--@ include _time
--@ keys meta
local meta = redis.call('HMGET', K.meta, 'epoch', 'time', 'clock', 'turn')
if not meta[1] then
  return redis.error_reply('NOEPOCH the conductors\' store has no epoch: it was emptied')
end
local now, server_clock = advance_time(K.meta, meta[2], meta[3])

local function whole(number)
  return string.format('%.0f', number)
end

local HEADER = '^(%S+) (%S+) (%S+) (%d+) (%d+) (%d+) (%d+) (%d+)\n'

local function unpack_header(value)
  local request, status, step, wake, version, created, updated, sequence = string.match(value, HEADER)
  return {
    request = request, status = status, step = step, wake = tonumber(wake), version = version,
    created = created, updated = updated, sequence = sequence,
  }
end

local function pack_record(head, body)
  return table.concat({
    head.request, head.status, head.step, whole(head.wake), head.version, head.created, head.updated,
    head.sequence,
  }, ' ') .. '\n' .. body
end

local function holds(leases, request, token)
  return redis.call('HGET', leases, request) == token
end
