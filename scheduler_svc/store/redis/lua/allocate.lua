-- SPDX-License-Identifier: Apache-2.0
-- Replaces what consumers hold by claims of the Placement API, all of them or none, as verbs/allocating.py does.
-- ARGV: log length, then seven for each consumer: see _allocating
-- Returns: nothing if it is done; else why it is refused: kind, consumer, provider or '', resource classes or '',
--          the consumer's generation or '' if it holds nothing
--@ args log_length
--@ include _partition
--@ include _allocating
expire()

read_changes(REST)
local refused = refusal()
if not refused then
  replace_all()
end
flush(false)
return refused or {}
