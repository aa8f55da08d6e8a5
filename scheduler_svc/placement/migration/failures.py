# SPDX-License-Identifier: Apache-2.0
"""Why a copy is not made."""


class PlacementUnavailable(Exception):
    """Raised when the other Placement cannot be reached, or is not one."""


class NothingToCopy(Exception):
    """Raised when the source of a copy has no provider: the copy would empty the target."""


class ClientsHaveWritten(Exception):
    """Raised when clients wrote to gantt since the last import: what they ended would come back."""


class NameConflict(Exception):
    """Raised when providers that exchange names cannot all get theirs."""
