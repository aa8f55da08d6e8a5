# SPDX-License-Identifier: Apache-2.0
"""Command-line arguments that a command declares."""

import argparse
import math
from collections.abc import Callable
from typing import Any


class Argument:
    def __init__(self, *names: str, **options: Any) -> None:
        self._names = names
        self._options = options

    def add_to(self, parser: argparse._ActionsContainer) -> None:
        parser.add_argument(*self._names, **self._options)


def repeatable(*names: str, **options: Any) -> Argument:
    return Argument(*names, action="append", default=[], **options)


def parse_number(kind: type[int] | type[float], least: float, most: float = math.inf) -> Callable[[str], float]:
    """Return a parser of numbers that raises ArgumentTypeError outside of the bounds."""

    def number(text: str) -> float:
        value = kind(text)
        if not least <= value <= most:
            raise argparse.ArgumentTypeError(f"{text} is not from {least:g} to {most:g}")
        return value

    return number


def parse_pair(text: str) -> tuple[str, str]:
    """Split KEY=VALUE; raises ArgumentTypeError."""
    key, equals, value = text.partition("=")
    if not equals or not key:
        raise argparse.ArgumentTypeError(f"{text!r} is not KEY=VALUE")
    return key, value


def parse_pairs(text: str) -> dict[str, str]:
    return dict(map(parse_pair, text.split(",")))
