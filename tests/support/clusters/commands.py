# SPDX-License-Identifier: Apache-2.0
"""The program ``gantt`` without its start: each run of it is a fork of a process that has imported it.

A run has its own arguments, environment, folder and streams, as that of the installed program. To import what a command
needs takes twenty times as long as to run it.
"""

import functools
import subprocess
import sys
import threading
from pathlib import Path

from tests.support import CHECKOUT
from tests.support.run_folders import claim_folder

CLIENT = Path(__file__).with_name("command_client.py")


class CommandServer:
    """The process whose forks run commands; it ends with this process, and then removes its folder."""

    def __init__(self) -> None:
        folder = claim_folder()
        self.socket = folder / "commands"
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.support.clusters.command_server", folder],
            cwd=CHECKOUT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,
        )
        assert self._process.stdout is not None
        assert self._process.stdout.readline() == b"serving\n", "the server of commands did not start"


_starting = threading.Lock()
_server = functools.cache(CommandServer)


def gantt() -> list[str]:
    """Return the command line that arguments of ``gantt`` are appended to."""
    with _starting:
        server = _server()
    return [sys.executable, "-IS", str(CLIENT), str(server.socket)]
