# SPDX-License-Identifier: Apache-2.0
"""Output of gantt-placement-import at the terminal, and its full report in a file."""

import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from tqdm import tqdm

MAX_SHOWN = 20  # lines of a list at the terminal; the file has all lines


class Report:
    def __init__(self, path: Path | None = None) -> None:
        self._file = None if path is None else path.open("w", encoding="utf-8")
        self._bar: Any = None
        self._what = ""

    def line(self, text: str) -> None:
        self._close_bar()
        print(text, flush=True)
        self._write(text)

    def listing(self, title: str, items: Iterable[object]) -> int:
        """Print a title with the number of items, and the first items; return the number."""
        lines = [str(item) for item in items]
        if not lines:
            return 0
        self._close_bar()
        shown = [f"{title}: {len(lines)}", *(f"  {line}" for line in lines[:MAX_SHOWN])]
        if len(lines) > MAX_SHOWN:
            shown.append(f"  and {len(lines) - MAX_SHOWN} more" + ("" if self._file else "; --report FILE has all"))
        print("\n".join(shown), flush=True)
        self._write("\n".join([f"{title}: {len(lines)}", *(f"  {line}" for line in lines)]))
        return len(lines)

    def progress(self, what: str, number: int, total: int) -> None:
        if self._bar is None or self._what != what or self._bar.total != total:
            self._close_bar()
            self._bar = tqdm(total=total, desc=what, unit="", disable=None, leave=False, file=sys.stderr)
            self._what = what
        self._bar.update(number - self._bar.n)
        if number >= total:
            self._close_bar()

    def close(self) -> None:
        self._close_bar()
        if self._file is not None:
            self._file.close()

    def _close_bar(self) -> None:
        if self._bar is not None:
            self._bar.close()
            self._bar = None

    def _write(self, text: str) -> None:
        if self._file is not None:
            self._file.write(text + "\n")
            self._file.flush()
