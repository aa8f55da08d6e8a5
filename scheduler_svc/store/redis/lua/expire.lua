-- SPDX-License-Identifier: Apache-2.0
-- Ends claims past their deadline.
-- ARGV: log length, maximum number of claims to check
-- Returns: number of claims ended
--@ args log_length limit
--@ include _partition
local ended = expire(tonumber(A.limit))
flush(false)
return ended
