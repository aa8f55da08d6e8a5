# SPDX-License-Identifier: Apache-2.0
"""The console script ``gantt`` in a process of its own."""

import subprocess
import sys

import pytest

UNUSED = ("oslo_messaging._drivers.impl_rabbit", "eventlet.support.greendns")
SCRIPT = """
import sys
from rpcapi import scripts
code = scripts.gantt()
print("exit code", code, *[name for name in {names} if name in sys.modules])
"""


@pytest.fixture
def run_gantt(tmp_path, monkeypatch):
    """Return a function that runs the script and prints which of some modules it imported."""
    monkeypatch.delenv("EVENTLET_NO_GREENDNS", raising=False)  # which the script sets itself
    path = tmp_path / "gantt.conf"
    path.write_text(f"[DEFAULT]\ntransport_url = gantt+redis:///0?socket={tmp_path}/bus.sock\n")

    def run(names, *argv):
        command = [sys.executable, "-c", SCRIPT.format(names=names), "--config-file", str(path), *argv]
        return subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)

    return run


def test_command_imports_the_client_of_its_bus_alone(run_gantt):
    result = run_gantt((*UNUSED, "rpcapi.messaging.drivers.redis_bus"), "server", "list")
    assert result.stdout.splitlines()[-1] == "exit code 1 rpcapi.messaging.drivers.redis_bus", result.stderr
    assert "The message bus cannot be reached" in result.stderr
