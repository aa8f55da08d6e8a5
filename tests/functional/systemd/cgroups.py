# SPDX-License-Identifier: Apache-2.0
"""A control group for each machine.

systemd-nspawn puts a machine that it does not register into the group ``payload`` below its own group. Machines that
are started from one group would share it.
"""

import contextlib
import os
from pathlib import Path

MOUNTS = Path("/sys/fs/cgroup")

# Enters the groups that precede "--", then becomes the command after it.
ENTER = 'while [ "$1" != -- ]; do echo $$ > "$1/cgroup.procs" || exit; shift; done; shift; exec "$@"'


def make(name: str) -> list[Path]:
    """Return a new group ``name`` below this process's group in each hierarchy that systemd uses, v1, v2 or both."""
    groups = [mount / own.lstrip("/") / name for mount, own in _own_groups() if mount.is_dir()]
    for group in groups:
        group.mkdir(exist_ok=True)  # of a machine that boots again
    return groups


def remove(groups: list[Path]) -> None:
    """Remove groups whose processes have ended, with those below them."""
    for group in groups:
        for folder, _, _ in os.walk(group, topdown=False):
            with contextlib.suppress(OSError):  # a process that has not been reaped yet
                Path(folder).rmdir()


def _own_groups() -> list[tuple[Path, str]]:
    unified = MOUNTS / "unified"
    mounts = {"": unified if unified.is_dir() else MOUNTS, "name=systemd": MOUNTS / "systemd"}
    lines = [line.split(":", 2) for line in Path("/proc/self/cgroup").read_text().splitlines()]
    return [(mounts[controllers], own) for _, controllers, own in lines if controllers in mounts]
