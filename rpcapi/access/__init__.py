# SPDX-License-Identifier: Apache-2.0
"""Authorization: users of the bus, their roles, and the callers of each method."""
