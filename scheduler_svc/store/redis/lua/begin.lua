-- SPDX-License-Identifier: Apache-2.0
-- Begins a run of a Python verb: expires overdue claims, and returns the counters that every verb reads.
-- ARGV: log length
-- Returns: epoch, position, partition time and server clock in ms as text, generation base, vocabulary
--@ args log_length
--@ include _partition
expire()
flush(false)
local fields = redis.call('HMGET', K.meta, 'generation_base', 'vocabulary')
return { epoch, position, now_text, clock_text, fields[1] or 0, fields[2] or 0 }
