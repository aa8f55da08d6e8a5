# SPDX-License-Identifier: Apache-2.0
"""Reasons why a copy is not made."""


class PlacementUnavailable(Exception):
    """Raised when the other Placement is unreachable, or is none."""


class NothingToCopy(Exception):
    """Raised when the source has no provider: the copy would empty the target."""


class ClientsHaveWritten(Exception):
    """Raised when clients wrote to gantt since the last import: an import would revive consumers that they ended."""


class NameConflict(Exception):
    """Raised when providers that exchange names cannot all get theirs."""
