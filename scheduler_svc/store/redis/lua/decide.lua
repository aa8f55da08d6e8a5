-- SPDX-License-Identifier: Apache-2.0
-- Records a decision that led to no prepare.
-- ARGV: log length, request id, decision as JSON, maximum number of decisions
-- Returns: 1
--@ args log_length request_id decision max_decisions
--@ include _partition
--@ include _decisions
record(A.request_id, string.sub(A.decision, 1, -2) .. ',"at_ms":' .. clock_text .. '}', tonumber(A.max_decisions))
return 1
