-- SPDX-License-Identifier: Apache-2.0
-- Expires overdue claims.
-- ARGV: log length, maximum number of claims
-- Returns: number of overdue claims; at the maximum, more may be left
--@ args log_length limit
--@ include _partition
local _, due = expire(tonumber(A.limit))
flush(false)
return due
