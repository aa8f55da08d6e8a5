# SPDX-License-Identifier: Apache-2.0
"""Installer of the Debian packages that the tests need; standard library only, like devstack.servers.install."""

import shutil
import sys
from collections.abc import Callable
from pathlib import Path

from devstack.servers.errors import ServerError
from devstack.servers.install import PRESENCE_CHECKS, Checks, install_missing
from devstack.servers.server import SYSTEM_PATH


def _on_path(program: str) -> Callable[[], bool]:
    return lambda: shutil.which(program, path=SYSTEM_PATH) is not None


def _matches(folder: str, pattern: str) -> Callable[[], bool]:
    return lambda: any(Path(folder).glob(pattern))


CHECKS: Checks = {
    **PRESENCE_CHECKS,
    "postgresql": _matches("/usr/lib/postgresql", "*/bin/postgres"),
    "memcached": _on_path("memcached"),
    "zookeeper": _matches("/usr/share/java", "zookeeper.jar"),
    "prometheus": _on_path("promtool"),
    "systemd-container": _on_path("systemd-nspawn"),
    "debootstrap": _on_path("debootstrap"),
    "zsh": _on_path("zsh"),
}


def main() -> int:
    try:
        installed = install_missing(CHECKS, CHECKS)
    except ServerError as why:
        print(why, file=sys.stderr)
        return 1
    if installed:
        print(f"Installed {', '.join(installed)}; their services were not started.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
