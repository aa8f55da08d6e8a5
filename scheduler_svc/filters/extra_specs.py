# SPDX-License-Identifier: Apache-2.0
"""The operators of flavor extra specs: what a value must be, as Nova's flavors say it.

``"4096"`` wants that text. Before one number, ``=`` and ``>=`` want at least, ``<=``, ``==`` and ``!=`` what they say;
``s==`` and its like compare texts; ``<in>`` wants a part of the text, ``<all-in>`` each of several, and ``<or>`` one of
several texts: ``<or> a <or> b``.
"""

import operator
from collections.abc import Callable, Sequence

import numpy as np

from scheduler_svc.table.columns import Column, FloatColumn

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


def matches(value: str, wanted: str) -> bool:
    """Tell whether ``value`` is what is wanted; an operator without an operand, or for other than numbers, never is."""
    sign, *words = wanted.split() or [""]
    if sign in _NUMBERS:
        number, bound = _number(value), _number(words[0] if words else "")
        return number is not None and bound is not None and bool(_NUMBERS[sign](number, bound))
    if sign in _TEXTS:
        return bool(words) and _TEXTS[sign](value, words)
    return value == wanted


def matching(values: FloatColumn, wanted: str) -> Column:
    """Return where a number is what is wanted; nowhere where it is NaN."""
    there = ~np.isnan(values)
    sign, *words = wanted.split() or [""]
    if sign in _NUMBERS:
        bound = _number(words[0] if words else "")
        return np.zeros(len(values), np.bool_) if bound is None else there & _NUMBERS[sign](values, bound)
    # Operators of texts are rare for numbers: each different one is asked about once.
    different, which = np.unique(values, return_inverse=True)
    answers = np.array([matches(_text(number), wanted) for number in different.tolist()], np.bool_)
    return there & answers[which] if len(different) else there


def texts(wanted: str) -> Sequence[str] | None:
    """Return the texts of which one is wanted; None where more than texts is asked about."""
    sign, *words = wanted.split() or [""]
    if sign == OR:
        return words[::2]
    if sign == "s==":
        return words[:1]
    return None if sign in _NUMBERS or sign in _TEXTS else [wanted]


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def _text(number: float) -> str:
    return str(int(number)) if number.is_integer() else str(number)
