# SPDX-License-Identifier: Apache-2.0
"""What only the embedded bus promises: nothing unacknowledged is lost, nothing of the dead stays, all recovers."""
