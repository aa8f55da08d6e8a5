# SPDX-License-Identifier: Apache-2.0
"""The Lua scripts, one file for each verb, and the keys that each declares."""

import hashlib
import re
from dataclasses import dataclass
from functools import cache
from importlib import resources

from conductor.store import keys

# In the order of the KEYS line of the script.
DECLARED = {
    "record": (
        keys.META,
        keys.REQUESTS,
        keys.INSTANCES,
        keys.LISTED,
        keys.EVERYTHING,
        keys.PENDING,
        keys.REMAINING,
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
        keys.REMAINING,
        keys.COUNTS,
        keys.PURGE,
        keys.DUE,
    ),
    "page_listed": (keys.LISTED, keys.INSTANCES),
    "page_everything": (keys.EVERYTHING, keys.INSTANCES),
}

_INCLUDE = re.compile(r"^--@ include (\w+)$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class ConductorScript:
    """A Lua script: name, full text, SHA-1 digest for EVALSHA, and declared keys."""

    name: str
    text: str
    sha: str
    keys: tuple[str, ...]


@cache
def load(name: str) -> ConductorScript:
    """Load the script of the verb ``name`` in DECLARED."""
    source = text(name.partition("_")[0])
    return ConductorScript(
        name, source, hashlib.sha1(source.encode(), usedforsecurity=False).hexdigest(), DECLARED[name]
    )


def text(name: str) -> str:
    """Return the source of a script with its includes expanded."""
    folder = resources.files("conductor.store") / "lua"
    source = (folder / f"{name}.lua").read_text(encoding="utf-8")
    return _INCLUDE.sub(lambda match: (folder / f"{match[1]}.lua").read_text(encoding="utf-8"), source)
