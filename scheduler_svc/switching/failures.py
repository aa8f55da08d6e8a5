# SPDX-License-Identifier: Apache-2.0
"""Failures of the other Placement."""


class PlacementUnavailable(Exception):
    """Raised when the other Placement cannot be reached, or is not one."""
