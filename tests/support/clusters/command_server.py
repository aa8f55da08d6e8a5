# SPDX-License-Identifier: Apache-2.0
"""The process whose forks run the commands of ``commands``. Its argument is its folder."""

import gc
import importlib
import json
import os
import random
import select
import signal
import socket
import sys
import warnings
from pathlib import Path
from typing import Any

from rpcapi import scripts
from rpcapi.cli.commands import COMMANDS
from tests.support.clusters.command_client import LENGTH
from tests.support.run_folders import release_folder

MODULES = ("rpcapi.cli.main", "rpcapi.admin.session", "rpcapi.messaging.drivers.redis_bus")

Command = tuple[list[str], dict[str, str], str]  # arguments, environment, folder


def serve(folder: Path) -> Command:
    """Serve until standard input ends; return a command, in the fork for it."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for a process that waits for a command
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(folder / "commands"))
    listener.listen()
    print("serving", flush=True)
    while True:
        waited: list[Any] = [0, listener]
        ready, _, _ = select.select(waited, [], [])
        if 0 in ready:
            release_folder(folder)
            os._exit(0)
        connection, _ = listener.accept()
        if os.fork() == 0:
            listener.close()
            return _run_for(connection)
        connection.close()


def _run_for(client: socket.socket) -> Command:
    """Read a request, return it in a fork with the client's streams, and report how that fork ended."""
    header, streams, _, _ = socket.recv_fds(client, LENGTH.size, 3)
    (length,) = LENGTH.unpack(header)
    request = client.recv(length, socket.MSG_WAITALL)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    command = os.fork()
    if command == 0:
        client.close()
        for number, stream in enumerate(streams):
            os.dup2(stream, number)
            os.close(stream)
        requested: Command = json.loads(request)
        return requested
    for stream in (0, 1, 2, *streams):
        os.close(stream)
    ended = os.pidfd_open(command)
    waited: list[Any] = [ended, client]
    if ended not in select.select(waited, [], [])[0]:
        os.kill(command, signal.SIGKILL)  # the client has ended
    _, status = os.waitpid(command, 0)
    client.send(str(os.waitstatus_to_exitcode(status)).encode())
    os._exit(0)


def main() -> int:
    """Import what the commands import, and serve; in a fork, run the command and return its exit code."""
    folder_of_server = Path(sys.argv[1])
    sys.argv = ["gantt"]  # libraries read the program's name when they are imported
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # as the program does
        for name in (*MODULES, *(target.partition(":")[0] for target in COMMANDS.values())):
            importlib.import_module(name)
    gc.collect()
    gc.freeze()
    arguments, environment, folder = serve(folder_of_server)
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(folder)
    random.seed()
    sys.argv += arguments
    return scripts.gantt()


if __name__ == "__main__":
    sys.exit(main())
