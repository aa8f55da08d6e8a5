# SPDX-License-Identifier: Apache-2.0
"""Validation of number, uuids and names of a request's instances."""

import re
from typing import Any

from rpcapi import errors

MAX_NAME = 255
# A uuid with or without hyphens; in braces, or after "urn:uuid:".
ANY_UUID = re.compile(
    r"(?:urn:uuid:|(\{))?([0-9a-f]{8})(-?)([0-9a-f]{4})\3([0-9a-f]{4})\3([0-9a-f]{4})\3([0-9a-f]{12})(?(1)\})",
    re.IGNORECASE | re.ASCII,
)
CANONICAL_UUID = re.compile("[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")


def check_count(count: Any, maximum: int) -> None:
    if not isinstance(count, int) or isinstance(count, bool) or not 1 <= count <= maximum:
        error = errors.InvalidCount(count=count, most=maximum)
        if isinstance(count, int) and count > maximum:
            raise errors.InvalidCount.of_message(f"{error}; split the request", count=count, most=maximum)
        raise error


def is_uuid(text: Any) -> bool:
    return isinstance(text, str) and CANONICAL_UUID.fullmatch(text) is not None


def is_uuid_like(text: Any) -> bool:
    """Whether ``text`` is a uuid in any spelling, as read by ``canonical_uuid``."""
    return isinstance(text, str) and ANY_UUID.fullmatch(text) is not None


def canonical_uuid(text: str) -> str:
    """Return a uuid in any spelling (capitals, without hyphens, in braces) as a canonical uuid; other text as it is."""
    match = ANY_UUID.fullmatch(text)
    return "-".join(match.group(2, 4, 5, 6, 7)).lower() if match is not None else text


def check_uuid(text: Any, what: str = "instance") -> None:
    """Raise InvalidName, which names the kind of object ``what``, unless ``text`` is a canonical uuid."""
    if not is_uuid(text):
        why = "it must be a uuid in lower case with hyphens"
        raise errors.InvalidName.of_message(f"{str(text)[:60]!r} is not the uuid of {_with_article(what)}: {why}")


def check_uuids(uuids: Any, maximum: int, what: str = "instance") -> None:
    """Raise InvalidCount, InvalidName or InvalidRequest unless ``uuids`` are 1 to ``maximum`` different uuids."""
    if not isinstance(uuids, (list, tuple)):
        raise errors.InvalidRequest(why=f"the uuids must be a list, not a {type(uuids).__name__}")
    check_count(len(uuids), maximum)
    unique_uuids = set()
    for text in uuids:
        check_uuid(text, what)
        if text in unique_uuids:
            raise errors.InvalidRequest(why=f"{what} {text} is given twice")
        unique_uuids.add(text)


def check_names(names: Any, count: int) -> None:
    if not isinstance(names, (list, tuple)) or len(names) not in (0, count):
        raise errors.InvalidRequest(why=f"the names must be a list with one name for each of {count} instances")
    for name in names:
        check_name(name)


def check_name(name: Any, what: str = "instance") -> None:
    if not isinstance(name, str) or not name.strip() or len(name) > MAX_NAME or not name.isprintable():
        why = f"it must be text of 1 to {MAX_NAME} printable characters"
    elif is_uuid_like(name):
        why = "a uuid would be ambiguous"
    else:
        return
    raise errors.InvalidName.of_message(f"{str(name)[:60]!r} is not the name of {_with_article(what)}: {why}")


def _with_article(what: str) -> str:
    return f"an {what}" if what == "instance" else f"a {what}"
