# SPDX-License-Identifier: Apache-2.0
"""Program that `lifetime` starts: it waits for a process to end, then ends that process's servers."""

import contextlib
import io
import json
import os
import select
import sys
from collections.abc import Iterable
from pathlib import Path

from devstack.servers.process import ServerProcess, stop_together

PIECE = 65536  # bytes


def main(owner: int) -> None:
    """End the servers named on standard input, one ``[pid, pid file]`` per line, after the owner has ended."""
    with open(0, "rb", buffering=0, closefd=False) as names:
        text = read_until_end(owner, names)
    end_servers([(pid, Path(path)) for pid, path in map(json.loads, text.splitlines())])


def read_until_end(owner: int, names: io.FileIO) -> bytes:
    """Return all whole lines written until the owner ended; its forks may keep the input open longer."""
    text = bytearray()
    os.set_blocking(names.fileno(), False)
    with contextlib.suppress(ProcessLookupError):
        descriptor = os.pidfd_open(owner)
        poll = select.poll()
        poll.register(descriptor, select.POLLIN)
        poll.register(names, select.POLLIN)
        # A different parent means that the owner has ended; its pid may be reused.
        while os.getppid() == owner and descriptor not in dict(poll.poll()):
            chunk = names.read(PIECE)
            text += chunk or b""
            if chunk == b"":
                poll.unregister(names)
    while chunk := names.read(PIECE):
        text += chunk
    return bytes(text[: text.rfind(b"\n") + 1])


def end_servers(servers: Iterable[tuple[int, Path]]) -> None:
    """Kill the servers that their pid files still name, not those started in the folders by a later owner."""
    processes = [ServerProcess(path.stem, path, Path(os.devnull)) for pid, path in servers if _is_at(pid, path)]
    stop_together(processes, 0)  # no grace period, because the servers have no users left


def _is_at(pid: int, path: Path) -> bool:
    try:
        return bool(json.loads(path.read_text())["pid"] == pid)
    except (OSError, ValueError, TypeError, KeyError):
        return False


if __name__ == "__main__":
    main(int(sys.argv[1]))
