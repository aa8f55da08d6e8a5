# SPDX-License-Identifier: Apache-2.0
"""A booted systemd for the tests that are marked ``systemd``."""

import os
import shutil
import subprocess
from collections.abc import Iterator

import pytest

from tests.functional.systemd import root
from tests.functional.systemd.machine import Machine

PROGRAMS = {"systemd-nspawn": "systemd-container", "debootstrap": "debootstrap", "nsenter": "util-linux"}


def require_privilege() -> None:
    """Skip where this process may not make namespaces and mounts: the one reason for which these tests skip in CI."""
    why = ""
    if os.getuid() != 0:
        why = "only root may boot a machine"
    elif shutil.which("unshare"):
        tried = [
            "unshare",
            "--mount",
            "--pid",
            "--fork",
            "--uts",
            "--ipc",
            "--net",
            "mount",
            "-t",
            "tmpfs",
            "x",
            "/mnt",
        ]
        done = subprocess.run(tried, capture_output=True, text=True, check=False)
        why = done.stderr.strip()
    if why:
        pytest.skip(f"NO PRIVILEGE to boot a systemd here: {why}")


def require_programs() -> None:
    """Skip, in CI fail, where a program is missing."""
    wanted = [package for program, package in PROGRAMS.items() if not shutil.which(program)]
    if wanted:
        why = f"A PROGRAM IS MISSING: apt-get install {' '.join(wanted)}"
        if os.environ.get("CI") == "true":
            pytest.fail(why, pytrace=False)
        pytest.skip(why)


@pytest.fixture(scope="session")
def machine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Machine]:
    """A booted machine with this tree installed in /opt/gantt and its units installed, none of them started."""
    require_privilege()
    require_programs()
    shared = tmp_path_factory.mktemp("machine") / "shared"
    root.copy_sources(shared / "gantt")
    machine = Machine(root.ready_root(), shared)
    try:
        machine.boot()
        machine.install()
        yield machine
    finally:
        machine.halt()
