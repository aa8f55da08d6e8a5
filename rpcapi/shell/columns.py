# SPDX-License-Identifier: Apache-2.0
"""Values that read one way in a table and another in JSON."""

import datetime
import json
from typing import Any

from cliff import columns


class Counts(columns.FormattableColumn):
    """A mapping of words to numbers: one line each, the largest number first."""

    def human_readable(self) -> str:
        ordered = sorted(self._value.items(), key=lambda item: (-item[1], item[0]))
        return "\n".join(f"{number} {word}" for word, number in ordered)

    def machine_readable(self) -> Any:
        return dict(self._value)


class Lines(columns.FormattableColumn):
    """A list: one line an element, in a form that ``line`` of a subclass may choose."""

    def human_readable(self) -> str:
        return "\n".join(self.line(item) for item in self._value)

    def machine_readable(self) -> Any:
        return list(self._value)

    @staticmethod
    def line(item: Any) -> str:
        return str(item)


class Fields(columns.FormattableColumn):
    """A mapping: one ``key: value`` line each."""

    def human_readable(self) -> str:
        return "\n".join(f"{key}: {value}" for key, value in self._value.items())

    def machine_readable(self) -> Any:
        return dict(self._value)


class Document(Fields):
    """A JSON object: one ``key: value`` line each, the value as it would be given to `gantt state set`."""

    def human_readable(self) -> str:
        return "\n".join(f"{key}: {_json(value)}" for key, value in self._value.items())


class Moment(columns.FormattableColumn):
    """A time in milliseconds of Unix time, or None."""

    def human_readable(self) -> str:
        if not self._value:
            return "-"
        moment = datetime.datetime.fromtimestamp(self._value / 1000, tz=datetime.UTC)
        return moment.strftime("%Y-%m-%d %H:%M:%S")

    def machine_readable(self) -> Any:
        if not self._value:
            return None
        return datetime.datetime.fromtimestamp(self._value / 1000, tz=datetime.UTC).isoformat(timespec="milliseconds")


class Text(columns.FormattableColumn):
    """A text, or None."""

    def human_readable(self) -> str:
        return "-" if self._value is None else str(self._value)

    def machine_readable(self) -> Any:
        return self._value


def _json(value: Any) -> str:
    """Return a value as JSON, or as the plain text that it is where nobody can take it for something else."""
    if isinstance(value, str) and not _is_json(value):
        return value
    return json.dumps(value, ensure_ascii=False)


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except ValueError:
        return False
    return True
