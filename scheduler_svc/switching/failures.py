# SPDX-License-Identifier: Apache-2.0
"""Why a copy is not made."""


class PlacementUnavailable(Exception):
    """Raised when the other Placement cannot be reached, or is not one."""


class NothingToCopy(Exception):
    """Raised when the source of a copy has no provider: the copy would empty the target."""
