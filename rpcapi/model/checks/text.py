# SPDX-License-Identifier: Apache-2.0
"""Texts, lists and mappings as a peer may send them: of the right type, and bounded."""

import json
from collections.abc import Collection, Sequence
from typing import Any

from rpcapi import errors

MAX_TEXT = 255  # a zone, a flavor, a group, a key
SHOWN = 40  # how much of a peer's text an error repeats


def refuse(why: str) -> errors.InvalidSpec:
    """Return the error that says ``why``."""
    return errors.InvalidSpec(why=why)


def shown(value: Any) -> str:
    """Return a peer's value as an error may repeat it: quoted, and short."""
    text = repr(value)
    return text if len(text) <= SHOWN else text[:SHOWN] + "..."


def check_text(what: str, text: Any) -> None:
    """Raise InvalidSpec unless ``text`` is a printable line of 1 to MAX_TEXT characters, or None."""
    if text is None:
        return
    good = isinstance(text, str) and 1 <= len(text) <= MAX_TEXT and text.isprintable() and text == text.strip()
    if not good:
        raise refuse(f"the {what} must be 1 to {MAX_TEXT} printable characters, not {shown(text)}")


def check_mapping(what: str, told: Any, most: int) -> None:
    """Raise InvalidSpec unless ``told`` is a mapping of at most ``most`` texts to anything."""
    if not isinstance(told, dict) or not all(isinstance(key, str) for key in told):
        raise refuse(f"{what} must be a mapping with text as keys, not {shown(told)}")
    if len(told) > most:
        raise refuse(f"there are {len(told)} entries in {what}; at most {most} are taken")


def check_keys(what: str, told: Any, known: Collection[str]) -> None:
    """Raise InvalidSpec unless ``told`` is a mapping that has none but the ``known`` keys."""
    check_mapping(what, told, MAX_TEXT)
    for key in told:
        if key not in known:
            raise refuse(f"{what} has no {shown(key)}; known: {', '.join(sorted(known))}")


def check_size(what: str, told: Any, most: int) -> None:
    """Raise InvalidSpec when ``told`` takes more than ``most`` bytes as JSON, or is too deep for it."""
    try:
        size = len(json.dumps(told))
    except (RecursionError, ValueError, TypeError):
        raise refuse(f"{what} cannot be written as JSON") from None
    if size > most:
        raise refuse(f"{what} take {size} bytes; at most {most} are carried")


def check_list(what: str, told: Any, most: int) -> None:
    """Raise InvalidSpec unless ``told`` is a list of at most ``most`` elements."""
    if not isinstance(told, (list, tuple)):
        raise refuse(f"{what} must be a list, not {shown(told)}")
    if len(told) > most:
        raise refuse(f"there are {len(told)} elements in {what}; at most {most} are taken")


def check_texts(what: str, told: Any, most: int) -> None:
    """Raise InvalidSpec unless ``told`` is a list of at most ``most`` texts."""
    check_list(what, told, most)
    for each in told:
        if not isinstance(each, str):
            raise refuse(f"{what} must hold texts, not {shown(each)}")


def is_integer(value: Any, least: int, most: int) -> bool:
    """Tell whether ``value`` is an integer of that range; True and False are none."""
    return isinstance(value, int) and not isinstance(value, bool) and least <= value <= most


def listed(names: Sequence[Any]) -> str:
    """Return names for a sentence, the first few of many."""
    told = ", ".join(str(each)[:SHOWN] for each in names[:5])
    return told + (f" and {len(names) - 5} more" if len(names) > 5 else "")
