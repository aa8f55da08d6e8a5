# SPDX-License-Identifier: Apache-2.0
"""The times that the bus runs on here."""

# Short, so that the tests see in a second or three what operators see in ten or sixty.
QUICK = {"visibility_timeout": 2, "reply_ttl": 3, "reconnect_backoff_max": 0.2, "socket_timeout": 1.0}
