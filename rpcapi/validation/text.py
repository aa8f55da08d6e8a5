# SPDX-License-Identifier: Apache-2.0
"""Type and size checks of strings, lists and mappings from peers."""

import json
import re
from collections.abc import Collection, Sequence
from typing import Any

from rpcapi import errors

MAX_TEXT = 255  # characters of a zone, flavor, group or key
MAX_SHOWN = 40  # characters of a peer's value repeated in an error

_SEQUENCE = re.compile(r"[0-9]{1,18}")


def invalid_spec(why: str) -> errors.InvalidSpec:
    return errors.InvalidSpec(why=why)


def abbreviate(value: Any) -> str:
    """Return the repr of a peer's value, truncated for errors."""
    text = repr(value)
    return text if len(text) <= MAX_SHOWN else text[:MAX_SHOWN] + "..."


def check_text(label: str, text: Any) -> None:
    """Raise InvalidSpec unless ``text`` is None or a printable line of 1 to MAX_TEXT characters."""
    if text is None:
        return
    valid = isinstance(text, str) and 1 <= len(text) <= MAX_TEXT and text.isprintable() and text == text.strip()
    if not valid:
        raise invalid_spec(f"the {label} must be 1 to {MAX_TEXT} printable characters, not {abbreviate(text)}")


def check_mapping(label: str, value: Any, maximum: int) -> None:
    """Raise InvalidSpec unless ``value`` is a mapping with string keys and at most ``maximum`` entries."""
    if not isinstance(value, dict) or not all(isinstance(key, str) for key in value):
        raise invalid_spec(f"{label} must be a mapping with string keys, not {abbreviate(value)}")
    if len(value) > maximum:
        raise invalid_spec(f"{label} may contain at most {maximum} entries, got {len(value)}")


def check_keys(label: str, value: Any, allowed_keys: Collection[str]) -> None:
    """Raise InvalidSpec unless ``value`` is a mapping with allowed keys only."""
    check_mapping(label, value, MAX_TEXT)
    for key in value:
        if key not in allowed_keys:
            raise invalid_spec(
                f"{label} has an unknown key {abbreviate(key)}; known: {', '.join(sorted(allowed_keys))}"
            )


def check_size(label: str, value: Any, maximum: int) -> None:
    """Raise InvalidSpec if ``value`` takes more than ``maximum`` bytes as JSON or cannot be encoded."""
    try:
        size = len(json.dumps(value))
    except (RecursionError, ValueError, TypeError):
        raise invalid_spec(f"{label} cannot be encoded as JSON") from None
    if size > maximum:
        raise invalid_spec(f"{label} may take at most {maximum} bytes as JSON, got {size}")


def check_list(label: str, value: Any, maximum: int) -> None:
    """Raise InvalidSpec unless ``value`` is a list of at most ``maximum`` elements."""
    if not isinstance(value, (list, tuple)):
        raise invalid_spec(f"{label} must be a list, not {abbreviate(value)}")
    if len(value) > maximum:
        raise invalid_spec(f"{label} may contain at most {maximum} elements, got {len(value)}")


def check_texts(label: str, value: Any, maximum: int) -> None:
    """Raise InvalidSpec unless ``value`` is a list of at most ``maximum`` strings."""
    check_list(label, value, maximum)
    for element in value:
        if not isinstance(element, str):
            raise invalid_spec(f"{label} must contain strings only, not {abbreviate(element)}")


def is_integer(value: Any, minimum: int, maximum: int) -> bool:
    """Return whether ``value`` is an integer in the range; booleans are not integers."""
    return isinstance(value, int) and not isinstance(value, bool) and minimum <= value <= maximum


def is_sequence(text: str) -> bool:
    """Return whether ``text`` has 1 to 18 ASCII digits, like the marker of a page."""
    return _SEQUENCE.fullmatch(text) is not None


def join_names(names: Sequence[Any]) -> str:
    text = ", ".join(str(name)[:MAX_SHOWN] for name in names[:5])
    return text + (f" and {len(names) - 5} more" if len(names) > 5 else "")
