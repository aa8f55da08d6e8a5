-- SPDX-License-Identifier: Apache-2.0
-- Records a decision that called no prepare.
-- ARGV: log length, request id, its project or "", decision as JSON, maximum bytes of all decisions
-- Returns: 1
--@ args log_length request_id project decision decision_bytes
--@ include _partition
--@ include _decisions
local text = string.sub(A.decision, 1, -2) .. ',"at_ms":' .. clock_text .. '}'
record(A.request_id, A.project, text, tonumber(A.decision_bytes))
return 1
