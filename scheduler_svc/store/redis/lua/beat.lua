-- SPDX-License-Identifier: Apache-2.0
-- Records a heartbeat of a service without nodes.
-- ARGV: log length, name, document of a new service as JSON, 1 if heartbeats decide liveness else 0
-- Returns: position
--@ include _partition
--@ include _beat
beat(ARGV[2], ARGV[3], ARGV[4])
return position
