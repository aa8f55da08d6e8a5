# SPDX-License-Identifier: Apache-2.0
"""Options with key=value pairs, such as extra specs and image properties."""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
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
    """Parser of configuration files that records the quotes around first lines, which oslo.config removes."""

    def __init__(self) -> None:
        # {(group in lower case, option): (value of oslo.config, quotes removed from its first line) of each assignment}
        self.assignments: dict[tuple[str, str], list[tuple[str, str]]] = defaultdict(list)
        self._section = self._quote = ""

    def new_section(self, section: str) -> None:
        self._section = section.lower()

    def assignment(self, key: str, value: list[str]) -> None:
        self.assignments[self._section, key].append(("\n".join(value), self._quote))

    def _split_key_value(self, line: str) -> tuple[str, list[str]]:
        key, (value,) = super()._split_key_value(line)
        self._quote = line[-1] if line[-1] in "\"'" and line.endswith(f"{line[-1]}{value}{line[-1]}") else ""
        return key, [value]


class PairReader:
    """Reader of options of pairs; takes a copy of the configuration files' quotes when it is made."""

    def __init__(self, conf: cfg.ConfigOpts) -> None:
        """Raises BadConfiguration if a configuration file can no longer be read."""
        self._conf = conf
        parser = _Parser()
        for path in _files(conf):
            try:
                with path.open(encoding="utf-8") as lines:
                    parser.parse(lines)
            except (OSError, ValueError, iniparser.ParseError) as error:
                raise errors.BadConfiguration(why=f"{path} cannot be read: {error}") from error
        self._assignments = parser.assignments

    def read(self, group: str, name: str) -> dict[str, str]:
        """Return the pairs of an option; raises BadConfiguration for a malformed pair, list or duplicate key."""
        value, label = self._conf[group][name], f"[{group}] {name}"
        return parse(label, split(label, self._quoted(group, name, value)) if isinstance(value, str) else value)

    def _quoted(self, group: str, name: str, value: str) -> str:
        """Return the value with its outer quotes, which belong to the first and the last item."""
        for unquoted, quote in reversed(self._assignments.get((group.lower(), name), ())):
            if unquoted == value or "$" in unquoted:  # oslo.config substitutes options for their $NAME
                first, *others = value.split("\n")
                return "\n".join((f"{quote}{first}{quote}", *others))
        return value


def option(name: str, **values: Any) -> cfg.Opt:
    return cfg.Opt(name, type=_Text(), **values)


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


def _files(conf: cfg.ConfigOpts) -> Iterator[Path]:
    """Yield the configuration files that oslo.config has read."""
    if "config_file" not in conf:  # options without a command line
        return
    yield from (Path(name).expanduser() for name in conf.config_file or ())
    for folder in conf.config_dirs or conf.config_dir or ():
        yield from sorted(Path(folder).expanduser().glob("[!.]*.conf"))
