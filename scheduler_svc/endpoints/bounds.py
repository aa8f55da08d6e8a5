# SPDX-License-Identifier: Apache-2.0
"""Validation of plain arguments of calls."""

from typing import Any

from rpcapi import errors
from scheduler_svc.store import validation

LARGEST = 2**53 - 1  # the largest integer that every peer and script reads exactly


def check(what: str, value: Any, minimum: int, maximum: int = LARGEST) -> None:
    """Raise InvalidRequest unless ``value`` is an integer from ``minimum`` to ``maximum``."""
    if not isinstance(value, int) or isinstance(value, bool) or not minimum <= value <= maximum:
        raise errors.InvalidRequest(why=f"{what} must be an integer from {minimum} to {maximum}, got {str(value)[:40]}")


def check_texts(what: str, values: Any) -> None:
    """Raise InvalidRequest unless ``values`` is None or a list of strings and None."""
    if values is not None and not (
        isinstance(values, list) and all(value is None or isinstance(value, str) for value in values)
    ):
        raise errors.InvalidRequest(why=f"{what} must be a list of strings and None")


def check_page(marker: Any, limit: Any) -> None:
    """Raise InvalidRequest unless marker and limit are valid."""
    check("limit", limit, 1, validation.MAX_PAGE)
    if marker is not None and not isinstance(marker, str):
        raise errors.InvalidRequest(why="marker must be a string that an earlier page returned")
