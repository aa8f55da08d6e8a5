# SPDX-License-Identifier: Apache-2.0
"""Cells with different forms in tables and in JSON; plain values have the same form in both."""

import datetime
import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from cliff.columns import FormattableColumn


class TableCell(FormattableColumn[Any]):
    """Value for programs, and its text for people."""

    def __init__(self, value: Any, text: str) -> None:
        super().__init__(value)
        self._text = text

    def human_readable(self) -> str:
        return self._text

    def machine_readable(self) -> Any:
        return self._value


def machine_value(cell: Any) -> Any:
    """Return the form of a cell for programs."""
    return cell.machine_readable() if isinstance(cell, TableCell) else cell


def human_text(cell: Any) -> str:
    """Return the form of a cell for tables."""
    return cell.human_readable() if isinstance(cell, TableCell) else str(cell)


def counts_cell(counts: Mapping[str, int]) -> TableCell:
    """Return a cell with a line per word and its count, largest first."""
    ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    return TableCell(dict(counts), "\n".join(f"{number} {word}" for word, number in ordered))


def lines_cell(items: Iterable[Any], line: Callable[[Any], str] = str) -> TableCell:
    """Return a cell with a line per item, formatted by ``line``."""
    listed = list(items)
    return TableCell(listed, "\n".join(map(line, listed)))


def fields_cell(fields: Mapping[str, Any], line: Callable[[str, Any], str] = "{}: {}".format) -> TableCell:
    """Return a cell with a line per key and value, formatted by ``line``."""
    return TableCell(dict(fields), "\n".join(line(key, value) for key, value in fields.items()))


def document_cell(document: Mapping[str, Any]) -> TableCell:
    """Return a cell with a line per key of a JSON object, with values in the form of `gantt state set`."""
    return fields_cell(document, lambda key, value: f"{key}: {_json(value)}")


def attempts_cell(attempts: Iterable[Any]) -> TableCell:
    """Return a cell with the ended attempts of a server or migration."""
    return lines_cell(attempts, _format_attempt)


def timestamp_cell(milliseconds: float | None) -> TableCell | None:
    """Return a cell for a Unix time in milliseconds."""
    if not milliseconds:
        return None
    timestamp = datetime.datetime.fromtimestamp(milliseconds / 1000, tz=datetime.UTC)
    return TableCell(timestamp.isoformat(timespec="milliseconds"), timestamp.strftime("%Y-%m-%d %H:%M:%S"))


def offset_cell(milliseconds: float | None) -> TableCell | None:
    """Return a cell with a clock difference in seconds, with sign."""
    return None if milliseconds is None else TableCell(milliseconds / 1000, f"{milliseconds / 1000:+.0f} s")


def _format_attempt(item: Any) -> str:
    return f"{item.get('attempt')}: {item.get('outcome')} on {item.get('host') or 'no host'}: {item.get('reason')}"


def _json(value: Any) -> str:
    """Return a value as JSON; text that is not valid JSON stays as it is."""
    if isinstance(value, str) and not _is_json(value):
        return value
    return json.dumps(value, ensure_ascii=False)


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except ValueError:
        return False
    return True
