# SPDX-License-Identifier: Apache-2.0
"""A booted systemd for tests marked ``systemd``."""

import os
import shutil
import subprocess
from collections.abc import Iterator

import pytest

from tests.functional.systemd import root
from tests.functional.systemd.machine import Machine

PROGRAMS = {"systemd-nspawn": "systemd-container", "debootstrap": "debootstrap", "nsenter": "util-linux"}


def require_privilege() -> None:
    """Skip without the privilege for namespaces and mounts; only this may skip these tests in CI."""
    why = ""
    if os.getuid() != 0:
        why = "only root may boot a machine"
    elif shutil.which("unshare"):
        probe = [
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
        done = subprocess.run(probe, capture_output=True, text=True, check=False)
        why = done.stderr.strip()
    if why:
        pytest.skip(f"NO PRIVILEGE to boot a systemd here: {why}")


def require_programs() -> None:
    """Skip, or fail in CI, when a program is missing."""
    missing_packages = [package for program, package in PROGRAMS.items() if not shutil.which(program)]
    if missing_packages:
        why = f"A PROGRAM IS MISSING: apt-get install {' '.join(missing_packages)}"
        if os.environ.get("CI") == "true":
            pytest.fail(why, pytrace=False)
        pytest.skip(why)


@pytest.fixture(scope="session")
def machine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Machine]:
    """A booted machine with this tree installed in /opt/gantt and its units installed but not started."""
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
