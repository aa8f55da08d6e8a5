# SPDX-License-Identifier: Apache-2.0
"""A peer as a process that is asked over its standard input, a JSON object a line, and times itself."""

import contextlib
import json
import os
import select
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from devstack.lab.interruption import held_back

ANSWER_SECONDS = 600.0
END_SECONDS = 5.0
MOST_BYTES = 64 * 2**20
READ = 2**16
TAIL = 600
INHERITED = ("PATH", "HOME", "LANG", "LC_ALL", "TMPDIR")  # not PYTHONPATH: nothing of ours may be found there
INSIDE = Path(__file__).parent / "inside"


class PeerFailed(Exception):
    """Raised when a peer ends, does not answer in time, or answers an error."""


class Side:
    """One peer's process."""

    def __init__(self, process: "subprocess.Popen[bytes]", log: Path) -> None:
        self._process = process
        self._log = log
        self._read = b""

    def ask(self, verb: str, **values: Any) -> Any:
        """Return the answer to a verb; raises PeerFailed."""
        line = json.dumps({"verb": verb, "values": values}).encode() + b"\n"
        assert self._process.stdin is not None  # noqa: S101 - it was made with a pipe
        try:
            self._process.stdin.write(line)
            self._process.stdin.flush()
        except OSError as why:
            raise PeerFailed(f"it ended: {self._tail()}") from why
        told = self._answer(time.monotonic() + ANSWER_SECONDS)
        if "error" in told:
            raise PeerFailed(f"{verb}: {told['error']}")
        return told["answer"]

    def _answer(self, deadline: float) -> dict[str, Any]:
        assert self._process.stdout is not None  # noqa: S101 - it was made with a pipe
        pipe = self._process.stdout.fileno()
        while b"\n" not in self._read:
            ready, _, _ = select.select([pipe], [], [], max(0.0, deadline - time.monotonic()))
            if not ready:
                raise PeerFailed(f"no answer within {ANSWER_SECONDS:g} s")
            more = os.read(pipe, READ)
            if not more:
                raise PeerFailed(f"it ended: {self._tail()}")
            self._read += more
            if len(self._read) > MOST_BYTES:
                raise PeerFailed(f"an answer of more than {MOST_BYTES} bytes")
        line, _, self._read = self._read.partition(b"\n")
        try:
            told = json.loads(line)
        except ValueError as why:
            raise PeerFailed(f"an answer that is no JSON: {line[:80]!r}") from why
        if not isinstance(told, dict) or not told.keys() & {"answer", "error"}:
            raise PeerFailed(f"an answer of another form: {line[:80]!r}")
        return told

    def _tail(self) -> str:
        with contextlib.suppress(OSError):
            return self._log.read_text(errors="replace")[-TAIL:].strip() or "it said nothing"
        return "it left no log"


@contextlib.contextmanager
def running(command: Sequence[str]) -> Iterator[Side]:
    """Start a peer with a folder of its own as its last argument, and leave nothing of either; raises PeerFailed."""
    folder = Path(tempfile.mkdtemp(prefix="gantt-lab-"))
    log = folder / "log"
    try:
        with held_back():
            process = _started([*command, str(folder)], folder, log)
        try:
            yield Side(process, log)
        finally:
            _end(process)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _started(command: Sequence[str], folder: Path, log: Path) -> "subprocess.Popen[bytes]":
    try:
        with log.open("wb") as errors:
            return subprocess.Popen(  # noqa: S603 - the command is our own, no shell reads it
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                cwd=folder,
                env={key: os.environ[key] for key in INHERITED if key in os.environ},
            )
    except OSError as why:
        raise PeerFailed(f"it cannot be started: {why}") from why


def _end(process: "subprocess.Popen[bytes]") -> None:
    """End the process: at once, there is nothing in it that anybody needs."""
    process.kill()
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            with contextlib.suppress(OSError):  # what was not sent yet is for nobody
                pipe.close()
    process.wait(END_SECONDS)
