# SPDX-License-Identifier: Apache-2.0
"""Process of a peer, which gets JSON requests through a pipe and times its own work."""

import contextlib
import json
import multiprocessing
import os
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from devstack import peer_environments
from devstack.lab.private_servers import temporary_folder
from devstack.lab.worker_processes import PipeEnd

ANSWER_SECONDS = 600.0
END_SECONDS = 5.0
TAIL = 600
INHERITED = ("PATH", "HOME", "LANG", "LC_ALL", "TMPDIR")
INSIDE = Path(__file__).parent / "inside"  # the only code of gantt that a peer can import


class PeerFailed(Exception):
    """Raised when a peer ends, does not answer in time, or answers with an error."""


def program(script: str) -> list[str]:
    """Return the command of a program in ``inside``. Raises PeerMissing."""
    return [str(peer_environments.python()), "-s", str(INSIDE / script)]


class PeerProcess:
    def __init__(self, process: "subprocess.Popen[bytes]", pipe: PipeEnd, log: Path) -> None:
        self._process = process
        self._pipe = pipe
        self._log = log

    def ask(self, verb: str, **values: Any) -> Any:
        try:
            self._pipe.send_bytes(json.dumps({"verb": verb, "values": values}).encode())
            if not self._pipe.poll(ANSWER_SECONDS):
                raise PeerFailed(f"no answer within {ANSWER_SECONDS:g} s")
            reply = json.loads(self._pipe.recv_bytes())
        except (EOFError, OSError) as why:
            raise PeerFailed(f"the process ended: {self._tail()}") from why
        if "error" in reply:
            raise PeerFailed(f"{verb}: {reply['error']}")
        return reply["answer"]

    def end(self) -> None:
        self._process.kill()
        self._process.wait(END_SECONDS)
        self._pipe.close()

    def _tail(self) -> str:
        with contextlib.suppress(OSError):
            return self._log.read_text(errors="replace")[-TAIL:].strip() or "it wrote nothing"
        return "it left no log"


@contextlib.contextmanager
def running(command: Sequence[str]) -> Iterator[PeerProcess]:
    """Start a peer with a temporary folder as its last argument, and remove both at the end. Raises PeerFailed."""
    with temporary_folder() as folder:
        peer = _start(command, folder)
        try:
            yield peer
        finally:
            peer.end()


def _start(command: Sequence[str], folder: Path) -> PeerProcess:
    log = folder / "log"
    pipe, peer_end = multiprocessing.Pipe()
    inherited = {key: os.environ[key] for key in INHERITED if key in os.environ}
    try:
        with log.open("wb") as output, peer_end:
            process = subprocess.Popen(  # noqa: S603 - a fixed command, no shell
                [*command, str(folder)],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                cwd=folder,
                env={**inherited, "PYTHONPATH": str(INSIDE), "GANTT_LAB_PIPE": str(peer_end.fileno())},
                pass_fds=[peer_end.fileno()],
            )
    except OSError as why:
        raise PeerFailed(f"the process cannot be started: {why}") from why
    return PeerProcess(process, pipe, log)
