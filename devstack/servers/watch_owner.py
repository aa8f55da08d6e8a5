# SPDX-License-Identifier: Apache-2.0
"""The program that `lifetime` starts: it waits until a process has ended, then ends that process' servers."""

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
    """End the servers that standard input names, one as ``[pid, pid file]`` per line, when the owner has ended."""
    with open(0, "rb", buffering=0, closefd=False) as names:
        text = read_until_end(owner, names)
    end_servers([(pid, Path(path)) for pid, path in map(json.loads, text.splitlines())])


def read_until_end(owner: int, names: io.FileIO) -> bytes:
    """Return all whole lines that were written until the owner ended.

    The end of the input says nothing by itself: processes that the owner forked keep it open.
    """
    text = bytearray()
    os.set_blocking(names.fileno(), False)
    with contextlib.suppress(ProcessLookupError):
        descriptor = os.pidfd_open(owner)
        poll = select.poll()
        poll.register(descriptor, select.POLLIN)
        poll.register(names, select.POLLIN)
        # With another parent the owner had ended before, and its number may be another process' by now.
        while os.getppid() == owner and descriptor not in dict(poll.poll()):
            chunk = names.read(PIECE)
            text += chunk or b""
            if chunk == b"":
                poll.unregister(names)
    while chunk := names.read(PIECE):
        text += chunk
    return bytes(text[: text.rfind(b"\n") + 1])


def end_servers(servers: Iterable[tuple[int, Path]]) -> None:
    """Kill the servers that their pid files still name, not those that another owner started there later."""
    processes = [ServerProcess(path.stem, path, Path(os.devnull)) for pid, path in servers if _is_at(pid, path)]
    stop_together(processes, 0)  # at once: they have no users any more


def _is_at(pid: int, path: Path) -> bool:
    """Return whether the pid file names this process."""
    try:
        return bool(json.loads(path.read_text())["pid"] == pid)
    except (OSError, ValueError, TypeError, KeyError):
        return False


if __name__ == "__main__":
    main(int(sys.argv[1]))
