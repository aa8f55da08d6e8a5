# SPDX-License-Identifier: Apache-2.0
"""Time-outs of the embedded bus in these tests."""

# Short, so that time-outs of 10 to 60 seconds in production take 1 to 3 seconds here.
QUICK = {"visibility_timeout": 2, "reply_ttl": 3, "reconnect_backoff_max": 0.2, "socket_timeout": 1.0}
