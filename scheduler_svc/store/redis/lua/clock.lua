-- SPDX-License-Identifier: Apache-2.0
-- Reads the server's clock.
-- ARGV: log length
-- Returns: milliseconds since the Unix epoch, as text
--@ args log_length
--@ include _partition
return clock_text
