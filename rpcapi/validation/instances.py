# SPDX-License-Identifier: Apache-2.0
"""Validation of the number of instances of a request, and of their uuids."""

import uuid as uuid_module
from typing import Any

from rpcapi import errors


def check_count(count: Any, maximum: int) -> None:
    """Raise InvalidCount unless ``count`` is an integer from 1 to ``maximum`` ([rpc] max_instances)."""
    if not isinstance(count, int) or isinstance(count, bool) or not 1 <= count <= maximum:
        error = errors.InvalidCount(count=count, most=maximum)
        if isinstance(count, int) and count > maximum:
            raise errors.InvalidCount(f"{error}; split the request", count=count, most=maximum)
        raise error


def check_uuid(text: Any) -> None:
    """Raise InvalidName unless ``text`` is a uuid in its canonical form: lower case, with hyphens."""
    try:
        valid = isinstance(text, str) and str(uuid_module.UUID(text)) == text
    except ValueError:
        valid = False
    if not valid:
        why = "it must be a uuid in lower case with hyphens"
        raise errors.InvalidName(f"{str(text)[:60]!r} is not the uuid of an instance: {why}")


def check_uuids(uuids: Any, maximum: int) -> None:
    """Raise unless ``uuids`` is a list of 1 to ``maximum`` different uuids.

    Raises InvalidCount, InvalidName, or InvalidRequest when it is not a list or contains an instance twice.
    """
    if not isinstance(uuids, (list, tuple)):
        raise errors.InvalidRequest(why=f"the uuids must be a list, not a {type(uuids).__name__}")
    check_count(len(uuids), maximum)
    unique_uuids = set()
    for text in uuids:
        check_uuid(text)
        if text in unique_uuids:
            raise errors.InvalidRequest(why=f"instance {text} is given twice")
        unique_uuids.add(text)
