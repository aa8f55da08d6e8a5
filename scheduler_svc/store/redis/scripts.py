# SPDX-License-Identifier: Apache-2.0
"""Loads the Lua scripts of the verbs, with their fragments and the keys they declare.

Two header lines are recognised, in verbs and fragments:
``--@ include name`` is replaced by the fragment ``name.lua``, once per script;
``--@ keys word ...`` declares keys (see keys.py), which the script uses as ``K.word``.
"""

import hashlib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from scheduler_svc.store.redis.keys import KEYS, prefix, state_key

_INCLUDE = "--@ include "
_KEYS = "--@ keys "


@dataclass(frozen=True, slots=True)
class RedisScript:
    """One verb's script: its text, its SHA-1 for EVALSHA, and the words of its keys in order."""

    name: str
    text: str
    sha: str
    words: tuple[str, ...]

    def keys(self, partition: str, namespace: str = "") -> list[str]:
        """Return the names of the keys that the script declares; ``state`` is that of ``namespace``."""
        head = prefix(partition)
        return [state_key(partition, namespace) if word == "state" else head + word for word in self.words]


@cache
def load(name: str) -> RedisScript:
    """Load and compose the script of the verb ``name``."""
    words: dict[str, None] = {}
    body = "\n".join(_compose(name, words, set()))
    unknown = sorted(words.keys() - KEYS.keys())
    if unknown:
        raise ValueError(f"script {name} declares keys that are not in the schema: {', '.join(unknown)}")
    table = ", ".join(f"{word} = KEYS[{index}]" for index, word in enumerate(words, 1))
    text = f"local K = {{ {table} }}\n{body}\n"
    return RedisScript(name, text, hashlib.sha1(text.encode(), usedforsecurity=False).hexdigest(), tuple(words))


def _compose(name: str, words: dict[str, None], included: set[str]) -> list[str]:
    if name in included:
        return []
    included.add(name)
    lines: list[str] = []
    for line in files("scheduler_svc.store.redis").joinpath("lua", f"{name}.lua").read_text("utf-8").splitlines():
        if line.startswith(_INCLUDE):
            lines += _compose(line.removeprefix(_INCLUDE).strip(), words, included)
        elif line.startswith(_KEYS):
            words.update(dict.fromkeys(line.removeprefix(_KEYS).split()))
        else:
            lines.append(line)
    return lines
