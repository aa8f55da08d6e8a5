# SPDX-License-Identifier: Apache-2.0
"""Operators of flavor extra specs, as in Nova.

- A plain value such as ``"4096"`` must be equal as a string.
- ``=`` and ``>=`` require at least the number; ``<=``, ``==`` and ``!=`` compare numbers.
- ``s==`` and similar operators compare strings.
- ``<in>`` requires a substring, ``<all-in>`` several substrings, ``<or> a <or> b`` one of several strings.
"""

import operator
from collections.abc import Callable, Sequence

import numpy as np

from scheduler_svc.core.table.columns import Column, FloatColumn

OR = "<or>"

_NUMBERS: dict[str, Callable[..., object]] = {
    "=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
    ">=": operator.ge,
    "<=": operator.le,
}
_TEXTS: dict[str, Callable[[str, Sequence[str]], bool]] = {
    "s==": lambda value, words: value == words[0],
    "s!=": lambda value, words: value != words[0],
    "s<": lambda value, words: value < words[0],
    "s<=": lambda value, words: value <= words[0],
    "s>": lambda value, words: value > words[0],
    "s>=": lambda value, words: value >= words[0],
    "<in>": lambda value, words: words[0] in value,
    "<all-in>": lambda value, words: all(word in value for word in words),
    OR: lambda value, words: value in words[::2],
}


def matches(value: str, requirement: str) -> bool:
    """Return whether ``value`` meets the requirement. False if an operand is missing or not a number."""
    sign, *words = requirement.split() or [""]
    if sign in _NUMBERS:
        number, bound = _number(value), _number(words[0] if words else "")
        return number is not None and bound is not None and bool(_NUMBERS[sign](number, bound))
    if sign in _TEXTS:
        return bool(words) and _TEXTS[sign](value, words)
    return value == requirement


def matches_column(values: FloatColumn, requirement: str) -> Column:
    """Return a mask of the numbers that meet the requirement. NaN never does."""
    present = ~np.isnan(values)
    sign, *words = requirement.split() or [""]
    if sign in _NUMBERS:
        bound = _number(words[0] if words else "")
        return np.zeros(len(values), np.bool_) if bound is None else present & _NUMBERS[sign](values, bound)
    # Test each distinct number only once: string operators on numbers are slow but rare.
    distinct, indexes = np.unique(values, return_inverse=True)
    answers = np.array([matches(_text(number), requirement) for number in distinct.tolist()], np.bool_)
    return present & answers[indexes] if len(distinct) else present


def accepted_texts(requirement: str) -> Sequence[str] | None:
    """Return the strings that the requirement accepts; None unless it tests string equality."""
    sign, *words = requirement.split() or [""]
    if sign == OR:
        return words[::2]
    if sign == "s==":
        return words[:1]
    return None if sign in _NUMBERS or sign in _TEXTS else [requirement]


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def _text(number: float) -> str:
    return str(int(number)) if number.is_integer() else str(number)
