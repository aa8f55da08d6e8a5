# SPDX-License-Identifier: Apache-2.0
"""Reasons why a copy is not made."""


class PlacementUnavailable(Exception):
    """Raised when the other Placement is unreachable, or the source is no Placement."""


class CopyRefused(Exception):
    """Raised when a copy would lose data in the target; the message says which."""
