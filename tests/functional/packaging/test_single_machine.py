# SPDX-License-Identifier: Apache-2.0
"""docs/install-single.md, done: one machine is installed by its commands, boots a server, and is removed again."""

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.functional.packaging.deployment import copy_packages
from tests.functional.systemd import root
from tests.functional.systemd.cluster import gantt
from tests.functional.systemd.machine import Machine
from tests.support.clusters.guide import SINGLE

pytestmark = [pytest.mark.packages, pytest.mark.timeout(1800)]


@pytest.fixture(scope="module")
def single(debian: list[Path], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Machine]:
    """A booted machine without gantt, with the packages in /srv/gantt."""
    shared = copy_packages(debian, tmp_path_factory.mktemp("single") / "shared")
    machine = Machine(root.ready_root(), shared)
    try:
        machine.boot()
        machine.script("rm -r /opt/gantt; ln -s /srv/shared /srv/gantt")
        yield machine
    finally:
        machine.halt()


def test_page_leads_to_an_active_server_and_back(single: Machine) -> None:
    *installation, removal = SINGLE.blocks()
    start = time.monotonic()

    for block in installation:
        single.script(block.commands)

    print(f"first server ACTIVE and claims verified after {time.monotonic() - start:.0f} s")
    (server,) = gantt(single, "server", "list")
    assert server["status"] == "ACTIVE"
    assert server["host"] == f"{single.run('hostname').stdout.strip()}/node0"

    single.script(removal.commands)

    folders = ("/opt", "/etc", "/usr/bin", "/usr/lib", "/usr/share", "/var/lib/gantt-compute")
    assert single.run("find", *folders, "-name", "gantt*", check=False).stdout == ""
