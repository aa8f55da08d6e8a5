# SPDX-License-Identifier: Apache-2.0
"""Reasons why a copy is not made."""


class PlacementUnavailable(Exception):
    """Raised when the other Placement is unreachable, or is none."""


class CopyRefused(Exception):
    """Raised when a copy would lose something in the target; the text says what."""
