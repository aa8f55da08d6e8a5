-- SPDX-License-Identifier: Apache-2.0
-- End claims past their deadline.
-- ARGV: log length, most claims to look at
-- Returns: how many ended
--@ include _partition
local ended = expire(tonumber(ARGV[2]))
flush(false)
return ended
