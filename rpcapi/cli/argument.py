# SPDX-License-Identifier: Apache-2.0
"""Arguments that commands declare."""

import argparse
from typing import Any


class Argument:
    """An argument of a command: what ``argparse.ArgumentParser.add_argument`` takes."""

    def __init__(self, *names: str, **options: Any) -> None:
        self._names = names
        self._options = options

    def add_to(self, parser: argparse.ArgumentParser) -> None:
        """Add the argument to a command's parser."""
        parser.add_argument(*self._names, **self._options)
