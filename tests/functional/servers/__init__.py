# SPDX-License-Identifier: Apache-2.0
"""Private servers start, are killed, restart with their data, and leave nothing behind."""
