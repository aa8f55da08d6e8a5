# SPDX-License-Identifier: Apache-2.0
"""Refusal of state files written by a newer release."""

from collections.abc import Collection, Mapping
from enum import StrEnum
from typing import Any, TypeVar

Word = TypeVar("Word", bound=StrEnum)


class NewerState(Exception):
    """Raised when a newer agent wrote a state file; the file is left unchanged."""

    def __init__(self, file: object, why: str) -> None:
        super().__init__(f"a newer agent wrote {file}: {why}. Start that release on this host, or upgrade this one")


def check_fields(file: object, names: Collection[str], known_names: Collection[str]) -> None:
    """Raise NewerState if a document of ``file`` has fields unknown to this agent."""
    unknown = sorted(set(names) - set(known_names))
    if unknown:
        raise NewerState(file, f"this agent does not know its {', '.join(unknown)}")


def without_empty(document: Mapping[str, Any], required: Collection[str]) -> dict[str, Any]:
    """Return a document without empty values, so that an older agent without these fields can read it."""
    return {name: value for name, value in document.items() if value or name in required}


def read_word(record: str, name: str, words: type[Word], word: str) -> Word:
    """Return the enum member; raises NewerState for an unknown string, ValueError for another type."""
    try:
        return words(word)
    except ValueError:
        if not isinstance(word, str):
            raise
        why = f"its {name} is {word!r}; this agent knows only {', '.join(words)}"
        raise NewerState(record, why) from None
