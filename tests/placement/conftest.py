# SPDX-License-Identifier: Apache-2.0
"""A running gantt-placement for the tests of a session."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from devstack.servers.ports import free_port
from tests.functional.servers.waiting import wait_until
from tests.placement.client import PlacementClient
from tests.placement.fixtures import PORT
from tests.run_folders import claim_folder, release_folder

WORKERS = 2
STOP_SECONDS = 60


@pytest.fixture(scope="session")
def placement_port(redis_server):
    """The port of an API with two processes, over a partition of its own on a private Redis."""
    folder, port = claim_folder(), free_port()
    conf = Path(folder) / "placement.conf"
    conf.write_text(
        f"[rpc]\npartition = placement{port}\n[store]\nurl = {redis_server.url()}\n[api]\nauth_strategy = noauth2\n"
        f"[placement]\nport = {port}\nworkers = {WORKERS}\n",
        encoding="utf-8",
    )
    log_path = Path(folder) / "placement.log"
    with log_path.open("wb") as log:
        command = [sys.executable, "-m", "scheduler_svc.cmd.placement", "--config-file", str(conf)]
        daemon = subprocess.Popen(command, stdout=log, stderr=log)
    try:
        wait_until(
            lambda: log_path.read_text().count(" serves http") == WORKERS or daemon.poll() is not None,
            "the start of gantt-placement",
        )
        assert daemon.poll() is None, log_path.read_text()
        assert PlacementClient(port).call("GET", "/")[0] == 200
        os.environ[PORT] = str(port)
        yield port
    finally:
        daemon.send_signal(signal.SIGTERM)
        status = daemon.wait(STOP_SECONDS)
    assert status == 0, log_path.read_text()
    assert "Traceback" not in log_path.read_text()
    release_folder(folder)
