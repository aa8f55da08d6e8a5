# SPDX-License-Identifier: Apache-2.0
"""The Lua verbs: one file each, and the keys each declares."""

import re
from collections.abc import Sequence
from importlib import resources
from typing import Any

import redis

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


class Scripts:
    """Every verb, ready to run; one that the server has forgotten is loaded again by itself."""

    def __init__(self, client: redis.Redis) -> None:
        self._verbs = {name: client.register_script(text(name.partition("_")[0])) for name in DECLARED}

    def run(self, name: str, arguments: Sequence[str | int]) -> Any:
        """Run a verb on the keys it declares; raises redis-py's errors."""
        return self._verbs[name](keys=DECLARED[name], args=arguments)


def text(name: str) -> str:
    """Return a script's source with what it includes."""
    folder = resources.files("conductor.store") / "lua"
    source = (folder / f"{name}.lua").read_text(encoding="utf-8")
    return _INCLUDE.sub(lambda found: (folder / f"{found[1]}.lua").read_text(encoding="utf-8"), source)
