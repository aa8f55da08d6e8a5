-- SPDX-License-Identifier: Apache-2.0
-- Ends claims past their deadline.
-- ARGV: log length, maximum number of claims to check
-- Returns: number of claims ended
--@ include _partition
local ended = expire(tonumber(ARGV[2]))
flush(false)
return ended
