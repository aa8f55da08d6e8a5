# SPDX-License-Identifier: Apache-2.0
"""Lua scripts: one file per verb, composed with its fragments and the keys that it declares.

Two header lines have a meaning, in verbs and fragments alike:
``--@ include name`` is replaced by the fragment ``name.lua``, once per script;
``--@ keys word ...`` declares keys by the words of the store's key schema; the script reads them as ``K.word``.
"""

import hashlib
from collections.abc import Callable, Collection
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

_INCLUDE = "--@ include "
_KEYS = "--@ keys "


@dataclass(frozen=True, slots=True)
class LuaScript:
    """One verb: its composed text, the digest that Redis identifies it by, and its key words in order."""

    name: str
    text: str
    sha: str
    words: tuple[str, ...]


def make_script(name: str, body: str, words: Collection[str]) -> LuaScript:
    """Return the script of ``body``, which reads its keys as ``K.word``."""
    table = ", ".join(f"{word} = KEYS[{index}]" for index, word in enumerate(words, 1))
    text = f"local K = {{ {table} }}\n{body}\n"
    return LuaScript(name, text, hashlib.sha1(text.encode(), usedforsecurity=False).hexdigest(), tuple(words))


def script_loader(package: str, key_schema: Collection[str]) -> Callable[[str], LuaScript]:
    """Return a function that reads the verb of a name from the folder ``lua`` of ``package``, once.

    That function raises ValueError for a script that declares a key which ``key_schema`` lacks.
    """
    folder = files(package).joinpath("lua")

    def compose(name: str, words: dict[str, None], included: set[str]) -> list[str]:
        if name in included:
            return []
        included.add(name)
        lines: list[str] = []
        for line in folder.joinpath(f"{name}.lua").read_text("utf-8").splitlines():
            if line.startswith(_INCLUDE):
                lines += compose(line.removeprefix(_INCLUDE).strip(), words, included)
            elif line.startswith(_KEYS):
                words.update(dict.fromkeys(line.removeprefix(_KEYS).split()))
            else:
                lines.append(line)
        return lines

    @cache
    def load(name: str) -> LuaScript:
        words: dict[str, None] = {}
        body = "\n".join(compose(name, words, set()))
        unknown = sorted(words.keys() - set(key_schema))
        if unknown:
            raise ValueError(f"script {name} declares keys that are not in the schema: {', '.join(unknown)}")
        return make_script(name, body, words)

    return load
