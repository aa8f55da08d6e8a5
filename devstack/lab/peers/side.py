# SPDX-License-Identifier: Apache-2.0
"""A peer's process: it reads requests from standard input, one JSON object per line, and times its own work."""

import contextlib
import json
import os
import select
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from devstack.lab.private_servers import in_temporary_folder

ANSWER_SECONDS = 600.0
WAIT_SECONDS = 1.0
END_SECONDS = 5.0
MAX_ANSWER_BYTES = 64 * 2**20
READ = 2**16
TAIL = 600
INHERITED = ("PATH", "HOME", "LANG", "LC_ALL", "TMPDIR")
INSIDE = Path(__file__).parent / "inside"  # all that a peer can import of gantt


class PeerFailed(Exception):
    """Raised when a peer ends, does not answer in time, or answers an error."""


class PeerProcess:
    def __init__(self, process: "subprocess.Popen[bytes]", log: Path) -> None:
        self._process = process
        self._log = log
        self._buffer = b""

    def ask(self, verb: str, **values: Any) -> Any:
        """Send a verb with its values and return the answer; raises PeerFailed."""
        line = json.dumps({"verb": verb, "values": values}).encode() + b"\n"
        assert self._process.stdin is not None  # noqa: S101 - created with a pipe
        try:
            self._process.stdin.write(line)
            self._process.stdin.flush()
        except OSError as why:
            raise PeerFailed(f"the process ended: {self._tail()}") from why
        reply = self._answer(time.monotonic() + ANSWER_SECONDS)
        if "error" in reply:
            raise PeerFailed(f"{verb}: {reply['error']}")
        return reply["answer"]

    def end(self) -> None:
        """Kill the process: it has nothing to save."""
        self._process.kill()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                with contextlib.suppress(OSError):  # unsent data is discarded
                    pipe.close()
        self._process.wait(END_SECONDS)

    def _answer(self, deadline: float) -> dict[str, Any]:
        assert self._process.stdout is not None  # noqa: S101 - created with a pipe
        pipe = self._process.stdout.fileno()
        while b"\n" not in self._buffer:
            # A signal that arrives just before `select` does not interrupt it: Python handles it between two waits.
            ready, _, _ = select.select([pipe], [], [], WAIT_SECONDS)
            if not ready:
                if time.monotonic() > deadline:
                    raise PeerFailed(f"no answer within {ANSWER_SECONDS:g} s")
                continue
            more = os.read(pipe, READ)
            if not more:
                raise PeerFailed(f"the process ended: {self._tail()}")
            self._buffer += more
            if len(self._buffer) > MAX_ANSWER_BYTES:
                raise PeerFailed(f"the answer has more than {MAX_ANSWER_BYTES} bytes")
        line, _, self._buffer = self._buffer.partition(b"\n")
        try:
            reply = json.loads(line)
        except ValueError as why:
            raise PeerFailed(f"the answer is not JSON: {line[:80]!r}") from why
        if not isinstance(reply, dict) or not reply.keys() & {"answer", "error"}:
            raise PeerFailed(f"the answer has neither 'answer' nor 'error': {line[:80]!r}")
        return reply

    def _tail(self) -> str:
        with contextlib.suppress(OSError):
            return self._log.read_text(errors="replace")[-TAIL:].strip() or "it wrote nothing"
        return "it left no log"


def running(command: Sequence[str]) -> contextlib.AbstractContextManager[PeerProcess]:
    """Start a peer with a temporary folder as its last argument, and remove both at the end; raises PeerFailed."""
    return in_temporary_folder(lambda folder: _start(command, folder), PeerProcess.end)


def _start(command: Sequence[str], folder: Path) -> PeerProcess:
    log = folder / "log"
    inherited = {key: os.environ[key] for key in INHERITED if key in os.environ}
    try:
        with log.open("wb") as errors:
            process = subprocess.Popen(  # noqa: S603 - a fixed command, no shell
                [*command, str(folder)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                cwd=folder,
                env={**inherited, "PYTHONPATH": str(INSIDE)},
            )
    except OSError as why:
        raise PeerFailed(f"the process cannot be started: {why}") from why
    return PeerProcess(process, log)
