-- SPDX-License-Identifier: Apache-2.0
-- Records the server's identity; begins an epoch if the server may have forgotten writes.
-- ARGV: run id as read or '', epoch as read or 0, run id, replication id, 1 if the server may have forgotten writes
--       else 0, highest epoch and sequence observed by the caller
-- Returns: epoch, sequence, 1 if this call began the epoch else 0
--@ include _identity
--@ keys meta
local time = redis.call('TIME')
local epoch, sequence, begins = record_server(K.meta, 'sequence', time[1] * 1000 + math.floor(time[2] / 1000))
if begins then
  redis.call('HSET', K.meta, 'epoch', string.format('%.0f', epoch), 'sequence', string.format('%.0f', sequence))
end
return { epoch, sequence, begins and 1 or 0 }
