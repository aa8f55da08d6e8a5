# SPDX-License-Identifier: Apache-2.0
"""Loader of Lua scripts, one per verb, with three kinds of header lines.

- ``--@ include name`` inserts the fragment ``name.lua`` once: the store's own, or a shared one in this package.
- ``--@ keys word ...`` declares keys by words of the store's key schema; scripts read them as ``K.word``.
- ``--@ args name ...`` declares arguments in order; scripts read them as ``A.name``, and further ones from
  ``ARGV[REST]``.
"""

import hashlib
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Any

_INCLUDE = "--@ include "
_KEYS = "--@ keys "
_ARGS = "--@ args "
_SHARED = files(__package__).joinpath("lua")


@dataclass(frozen=True, slots=True)
class LuaScript:
    """Composed script of a verb, with its SHA-1 for EVALSHA, key words and arguments."""

    name: str
    text: str
    sha: str
    words: tuple[str, ...]
    args: tuple[str, ...]

    def arguments(self, rest: Iterable[Any] = (), **values: Any) -> list[Any]:
        """Return ARGV: ``values`` as declared, then ``rest``. Raises TypeError unless they match the declaration."""
        if values.keys() != set(self.args):
            raise TypeError(f"script {self.name} takes {', '.join(self.args)}, got {', '.join(values)}")
        return [*(values[name] for name in self.args), *rest]


def make_script(name: str, body: str, words: Sequence[str], args: Sequence[str]) -> LuaScript:
    text = f"local K = {_table('KEYS', words)}\nlocal A, REST = {_table('ARGV', args)}, {len(args) + 1}\n{body}\n"
    sha = hashlib.sha1(text.encode(), usedforsecurity=False).hexdigest()
    return LuaScript(name, text, sha, tuple(words), tuple(args))


def _table(source: str, names: Sequence[str]) -> str:
    return "{ " + ", ".join(f"{name} = {source}[{index}]" for index, name in enumerate(names, 1)) + " }"


def _read(folder: Traversable, part: str) -> str:
    own = folder.joinpath(f"{part}.lua")
    return (own if own.is_file() else _SHARED.joinpath(f"{part}.lua")).read_text("utf-8")


def script_loader(package: str, key_schema: Collection[str]) -> Callable[[str], LuaScript]:
    """Return a cached loader of the scripts in ``package``/lua; it raises ValueError for undeclared keys."""
    folder = files(package).joinpath("lua")

    @cache
    def load(name: str) -> LuaScript:
        words: dict[str, None] = {}
        args: list[str] = []
        included: set[str] = set()

        def compose(part: str) -> list[str]:
            if part in included:
                return []
            included.add(part)
            lines: list[str] = []
            for line in _read(folder, part).splitlines():
                if line.startswith(_INCLUDE):
                    lines += compose(line.removeprefix(_INCLUDE).strip())
                elif line.startswith(_KEYS):
                    words.update(dict.fromkeys(line.removeprefix(_KEYS).split()))
                elif line.startswith(_ARGS):
                    args.extend(line.removeprefix(_ARGS).split())
                else:
                    lines.append(line)
            return lines

        body = "\n".join(compose(name))
        unknown = sorted(words.keys() - set(key_schema))
        if unknown:
            raise ValueError(f"script {name} declares keys that are not in the schema: {', '.join(unknown)}")
        return make_script(name, body, tuple(words), args)

    return load
