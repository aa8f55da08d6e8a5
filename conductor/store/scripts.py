# SPDX-License-Identifier: Apache-2.0
"""The Lua verbs: one file each, and the keys each declares."""

import hashlib
import re
from dataclasses import dataclass
from functools import cache
from importlib import resources

from conductor.store import keys

# In the order of each script's KEYS line.
DECLARED = {
    "record": (
        keys.META,
        keys.REQUESTS,
        keys.INSTANCES,
        keys.LISTED,
        keys.EVERYTHING,
        keys.PENDING,
        keys.LEFT,
        keys.DUE,
        keys.COUNTS,
    ),
    "take": (keys.META, keys.DUE, keys.LEASES, keys.WOKEN),
    "load": (keys.REQUESTS, keys.INSTANCES, keys.PENDING, keys.DUE, keys.LEASES),
    "write": (
        keys.INSTANCES,
        keys.LISTED,
        keys.PENDING,
        keys.DUE,
        keys.LEASES,
        keys.WOKEN,
        keys.COUNTS,
        keys.PURGE,
    ),
    "release": (keys.DUE, keys.LEASES, keys.WOKEN),
    "purge": (
        keys.REQUESTS,
        keys.INSTANCES,
        keys.EVERYTHING,
        keys.LEFT,
        keys.COUNTS,
        keys.PURGE,
        keys.DUE,
    ),
    "page_listed": (keys.LISTED, keys.INSTANCES),
    "page_everything": (keys.EVERYTHING, keys.INSTANCES),
}

_INCLUDE = re.compile(r"^--@ include (\w+)$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Script:
    """One verb: its name, its whole text, the digest that Redis knows it by, and the keys it declares."""

    name: str
    text: str
    sha: str
    keys: tuple[str, ...]


@cache
def load(name: str) -> Script:
    """Read the verb ``name`` of DECLARED."""
    source = text(name.partition("_")[0])
    return Script(name, source, hashlib.sha1(source.encode(), usedforsecurity=False).hexdigest(), DECLARED[name])


def text(name: str) -> str:
    """Return a script's source with what it includes."""
    folder = resources.files("conductor.store") / "lua"
    source = (folder / f"{name}.lua").read_text(encoding="utf-8")
    return _INCLUDE.sub(lambda found: (folder / f"{found[1]}.lua").read_text(encoding="utf-8"), source)
