-- SPDX-License-Identifier: Apache-2.0
-- Records a decision that led to no prepare.
-- ARGV: log length, request id, decision as JSON, maximum number of decisions
-- Returns: 1
--@ include _partition
--@ include _decisions
record(ARGV[2], string.sub(ARGV[3], 1, -2) .. ',"at_ms":' .. now_text .. '}', tonumber(ARGV[4]))
return 1
