# SPDX-License-Identifier: Apache-2.0
"""Options with key=value pairs, such as extra specs and image properties."""

import functools
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from oslo_config import cfg, iniparser, types

from rpcapi import errors

_ITEM = re.compile(r"""\s*(?:"([^"]*)"|'([^']*)'|([^\s,"'][^,]*)?)\s*(,|$)""")


class _Text(types.List):
    """Option type that leaves the splitting of text to ``read``; overrides in Python may be lists."""

    def __call__(self, value: Any) -> Any:
        return value


class _Parser(iniparser.BaseParser):
    """Configuration parser that keeps quotes around a whole value, which oslo.config removes."""

    def __init__(self) -> None:
        self.texts: dict[tuple[str, str], str] = {}
        self._section = "DEFAULT"

    def new_section(self, section: str) -> None:
        self._section = section

    def assignment(self, key: str, value: list[str]) -> None:
        self.texts[self._section, key] = "\n".join(value)

    def _split_key_value(self, line: str) -> tuple[str, list[str]]:
        key, (value,) = super()._split_key_value(line)
        quoted = f"{line[-1]}{value}{line[-1]}"
        return key, [quoted if line[-1] in "\"'" and line.endswith(quoted) else value]


def option(name: str, **values: Any) -> cfg.Opt:
    return cfg.Opt(name, type=_Text(), **values)


def read(conf: cfg.ConfigOpts, group: str, name: str) -> dict[str, str]:
    """Return the pairs of an option. Raises BadConfiguration for a malformed list or pair, or a repeated key."""
    value, label = conf[group][name], f"[{group}] {name}"
    return parse(label, split(label, _as_written(conf, group, name, value)) if isinstance(value, str) else value)


def split(label: str, text: str) -> list[str]:
    """Split a list at its commas and unquote the items. Raises BadConfiguration."""
    items: list[str] = []
    position, separator = 0, "," if text.strip() else ""
    while separator:
        match = _ITEM.match(text, position)
        if match is None:
            rest = text[position:].strip()
            raise errors.BadConfiguration(why=f"{label}: {rest!r} must begin with a complete item and a comma")
        *quoted, plain, separator = match.groups()
        items.append(next((item for item in quoted if item is not None), (plain or "").strip()))
        position = match.end()
    return items


def parse(label: str, pairs: Iterable[str]) -> dict[str, str]:
    mapping: dict[str, str] = {}
    for pair in pairs:
        key, equals, value = (part.strip() for part in pair.partition("="))
        if not equals or not key or key in mapping:
            raise errors.BadConfiguration(why=f"{label}: {pair!r} must be key=value, with each key once")
        mapping[key] = value
    return mapping


def _as_written(conf: cfg.ConfigOpts, group: str, name: str, value: str) -> str:
    """Restore outer quotes that oslo.config removed although they belong to the first and the last item."""
    location = conf.get_location(name, group)
    if "," not in value or location is None or location.location is not cfg.Locations.user:
        return value
    status = Path(location.detail).stat()
    return _texts(location.detail, status.st_mtime_ns, status.st_size).get((group, name), value)


@functools.lru_cache(maxsize=8)
def _texts(path: str, _mtime_ns: int, _size: int) -> dict[tuple[str, str], str]:
    parser = _Parser()
    with Path(path).open(encoding="utf-8") as lines:
        parser.parse(lines)
    return parser.texts
