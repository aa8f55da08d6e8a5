-- SPDX-License-Identifier: Apache-2.0
-- Ends claims past their deadline.
-- ARGV: log length, maximum number of claims to check
-- Returns: number of deadlines that had passed; the maximum if more may have
--@ args log_length limit
--@ include _partition
local _, due = expire(tonumber(A.limit))
flush(false)
return due
