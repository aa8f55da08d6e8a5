# SPDX-License-Identifier: Apache-2.0
"""The forks that run the operator's command in tests do what the installed program does."""

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.clusters import commands

INSTALLED = [str(Path(sys.executable).with_name("gantt"))]


COMMANDS = ("--version", "server list", "server show", "boot --count many", "nonsense", "help boot")


@pytest.mark.parametrize("arguments", COMMANDS)
def test_output_and_exit_code_are_those_of_the_installed_program(tmp_path: Path, arguments: str) -> None:
    (tmp_path / "gantt.conf").write_text("[DEFAULT]\ntransport_url = gantt+redis:///0?socket=absent.sock\n")
    environment = os.environ | {"GANTT_CONFIG_FILE": "gantt.conf", "COLUMNS": "70"}

    def run(program: list[str]) -> tuple[int, str, str]:
        command = [*program, *arguments.split()]
        end = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
        return end.returncode, end.stdout, end.stderr

    assert run(commands.gantt()) == run(INSTALLED)


def test_command_ends_with_its_client(run_folder: Path) -> None:
    with socket.socket(socket.AF_UNIX) as bus:
        bus.bind(str(run_folder / "bus.sock"))
        bus.listen()
        conf = run_folder / "gantt.conf"
        conf.write_text(f"[DEFAULT]\ntransport_url = gantt+redis:///0?socket={run_folder}/bus.sock\n")
        client = subprocess.Popen([*commands.gantt(), "--config-file", str(conf), "server", "list"])
        connection, _ = bus.accept()
        with connection:
            client.kill()
            client.wait()
            connection.settimeout(60)
            while connection.recv(4096):
                pass
