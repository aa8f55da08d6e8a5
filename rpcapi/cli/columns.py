# SPDX-License-Identifier: Apache-2.0
"""Column values with different forms in tables and in JSON."""

import datetime
import json
from collections.abc import Callable
from typing import Any

from cliff import columns


def machine_value(cell: Any) -> Any:
    """Return what formats for programs show of a cell."""
    return cell.machine_readable() if isinstance(cell, columns.FormattableColumn) else cell


class CountsColumn(columns.FormattableColumn[Any]):
    """A mapping of words to counts: one line each, the largest count first."""

    def human_readable(self) -> str:
        ordered = sorted(self._value.items(), key=lambda item: (-item[1], item[0]))
        return "\n".join(f"{number} {word}" for word, number in ordered)

    def machine_readable(self) -> Any:
        return dict(self._value)


class LinesColumn(columns.FormattableColumn[Any]):
    """A list: one line per element, formatted by ``line``."""

    def __init__(self, value: Any, line: Callable[[Any], str] = str) -> None:
        super().__init__(value)
        self._line = line

    def human_readable(self) -> str:
        return "\n".join(map(self._line, self._value))

    def machine_readable(self) -> Any:
        return list(self._value)


def attempts_column(attempts: Any) -> LinesColumn:
    """Return the column of the ended attempts of a server or a migration."""
    return LinesColumn(attempts, _format_attempt)


def _format_attempt(item: Any) -> str:
    return f"{item.get('attempt')}: {item.get('outcome')} on {item.get('host') or 'no host'}: {item.get('reason')}"


class FieldsColumn(columns.FormattableColumn[Any]):
    """A mapping: one ``key: value`` line each."""

    def human_readable(self) -> str:
        return "\n".join(f"{key}: {value}" for key, value in self._value.items())

    def machine_readable(self) -> Any:
        return dict(self._value)


class DocumentColumn(FieldsColumn):
    """A JSON object: one ``key: value`` line each, with values as `gantt state set` takes them."""

    def human_readable(self) -> str:
        return "\n".join(f"{key}: {_json(value)}" for key, value in self._value.items())


class TimestampColumn(columns.FormattableColumn[Any]):
    """A time in milliseconds since the epoch, or None."""

    def human_readable(self) -> str:
        if not self._value:
            return "-"
        timestamp = datetime.datetime.fromtimestamp(self._value / 1000, tz=datetime.UTC)
        return timestamp.strftime("%Y-%m-%d %H:%M:%S")

    def machine_readable(self) -> Any:
        if not self._value:
            return None
        return datetime.datetime.fromtimestamp(self._value / 1000, tz=datetime.UTC).isoformat(timespec="milliseconds")


class OffsetColumn(columns.FormattableColumn[Any]):
    """A difference of clocks in milliseconds, or None: shown in seconds, with its sign."""

    def human_readable(self) -> str:
        return "-" if self._value is None else f"{self._value / 1000:+.0f} s"

    def machine_readable(self) -> Any:
        return None if self._value is None else self._value / 1000


class TextColumn(columns.FormattableColumn[Any]):
    """A text, or None."""

    def human_readable(self) -> str:
        return "-" if self._value is None else str(self._value)

    def machine_readable(self) -> Any:
        return self._value


def _json(value: Any) -> str:
    """Return a value as JSON, or a text that is not valid JSON as it is."""
    if isinstance(value, str) and not _is_json(value):
        return value
    return json.dumps(value, ensure_ascii=False)


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except ValueError:
        return False
    return True
