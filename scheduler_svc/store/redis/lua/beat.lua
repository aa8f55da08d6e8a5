-- SPDX-License-Identifier: Apache-2.0
-- Records a heartbeat of a service without nodes.
-- ARGV: log length, name, document of a new service as JSON, 1 if heartbeats decide liveness else 0
-- Returns: position
--@ args log_length name document beats_decide
--@ include _partition
--@ include _beat
beat(A.name, A.document, A.beats_decide)
return position
