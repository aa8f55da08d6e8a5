# SPDX-License-Identifier: Apache-2.0
"""Plain arguments of calls: are they what they should be?"""

from typing import Any

from rpcapi import errors
from scheduler_svc.store import validation

LARGEST = 2**53 - 1  # what every peer and script reads exactly


def check(what: str, value: Any, least: int, most: int = LARGEST) -> None:
    """Raise InvalidRequest unless ``value`` is an integer from ``least`` to ``most``."""
    if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
        raise errors.InvalidRequest(why=f"{what} must be an integer from {least} to {most}, not {str(value)[:40]}")


def check_page(marker: Any, limit: Any) -> None:
    """Raise InvalidRequest unless these can ask for a page."""
    check("limit", limit, 1, validation.MAX_PAGE)
    if marker is not None and not isinstance(marker, str):
        raise errors.InvalidRequest(why="marker must be a text that an earlier page gave")
