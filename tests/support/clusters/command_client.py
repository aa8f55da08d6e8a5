# SPDX-License-Identifier: Apache-2.0
"""A program that lets the server of commands run ``gantt``; it imports nothing else, for it must start quickly.

Arguments: the server's socket, then those of ``gantt``. If this process ends before the command, the command is killed.
"""

import json
import os
import signal
import socket
import struct
import sys

LENGTH = struct.Struct("!I")


def main() -> None:
    """Run the command with the arguments, environment, folder and streams of this process; end as it ends."""
    folder = os.getcwd()  # noqa: PTH109 - pathlib takes as long to import as all the rest
    request = json.dumps([sys.argv[2:], dict(os.environ), folder]).encode()
    with socket.socket(socket.AF_UNIX) as server:
        server.connect(sys.argv[1])
        socket.send_fds(server, [LENGTH.pack(len(request))], [0, 1, 2])
        server.sendall(request)
        status = int(server.recv(64))
    if status < 0:  # the signal that ended it
        signal.signal(-status, signal.SIG_DFL)
        os.kill(os.getpid(), -status)
    sys.exit(status)


if __name__ == "__main__":
    main()
