# SPDX-License-Identifier: Apache-2.0
"""Checks of values from peers, and their representation in errors."""

import re
from collections.abc import Sequence
from typing import Any

from rpcapi import errors

MAX_TEXT = 255  # characters of a name or key
TEXT = f"1 to {MAX_TEXT} printable characters without blanks at the ends"
MAX_SHOWN = 40  # characters of a peer's value repeated in an error

_SEQUENCE = re.compile(r"[0-9]{1,18}")


def is_text(value: Any) -> bool:
    return isinstance(value, str) and 1 <= len(value) <= MAX_TEXT and value.isprintable() and value == value.strip()


def invalid_spec(why: str) -> errors.InvalidSpec:
    return errors.InvalidSpec(why=why)


def abbreviate(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= MAX_SHOWN else text[:MAX_SHOWN] + "..."


def is_integer(value: Any, minimum: int, maximum: int) -> bool:
    """Return whether ``value`` is an integer in the range; booleans are not integers."""
    return isinstance(value, int) and not isinstance(value, bool) and minimum <= value <= maximum


def is_sequence(text: str) -> bool:
    """Return whether ``text`` has 1 to 18 ASCII digits, like a page marker."""
    return _SEQUENCE.fullmatch(text) is not None


def join_names(names: Sequence[Any]) -> str:
    text = ", ".join(str(name)[:MAX_SHOWN] for name in names[:5])
    return text + (f" and {len(names) - 5} more" if len(names) > 5 else "")
