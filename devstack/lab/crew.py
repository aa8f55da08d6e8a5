# SPDX-License-Identifier: Apache-2.0
"""Worker processes for the length of a measurement, and the lines on which they are told and heard."""

import contextlib
import multiprocessing
import signal
import time
from collections.abc import Callable, Sequence
from multiprocessing import connection
from types import TracebackType
from typing import Any

from devstack.lab.interruption import held_back
from rpcapi.shell.faults import CommandFailed

LOOK_SECONDS = 0.2

Line = connection.Connection
Task = Callable[[Line, int], None]


class Crew:
    """So many processes that run ``task(line, index)``; none of them outlives the ``with`` block.

    They share neither queue nor lock with this process or each other: one that is killed holds up nobody.
    """

    def __init__(self, size: int, task: Task) -> None:
        self._size = size
        self._task = task
        self._workers: list[Any] = []
        self._lines: list[Line] = []

    def __enter__(self) -> "Crew":
        try:
            for index in range(self._size):
                with held_back():
                    self._begin(index)
        except BaseException:
            self._end()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._end()

    def tell(self, messages: Sequence[Any]) -> None:
        """Send each worker its message, which it receives with ``line.recv()``."""
        for line, message in zip(self._lines, messages, strict=True):
            with contextlib.suppress(OSError):  # who has died is missed when the crew is heard
                line.send(message)

    def hear(self, seconds: float | None = None, meanwhile: Callable[[], None] | None = None) -> list[Any]:
        """Return one message of each worker, in order; ``meanwhile`` is called some times a second.

        Raises what a worker raised, and CommandFailed when one died or did not say anything for so many seconds.
        """
        deadline = None if seconds is None else time.monotonic() + seconds
        heard: dict[int, Any] = {}
        while len(heard) < self._size:
            waited = {line: index for index, line in enumerate(self._lines) if index not in heard}
            for line in connection.wait(list(waited), LOOK_SECONDS):
                heard[waited[line]] = self._message(waited[line])  # type: ignore[index]
            if meanwhile is not None:
                meanwhile()
            if deadline is not None and time.monotonic() > deadline and len(heard) < self._size:
                raise CommandFailed(f"{self._size - len(heard)} of {self._size} workers did not start in {seconds} s")
        return [heard[index] for index in range(self._size)]

    def _begin(self, index: int) -> None:
        spawning = multiprocessing.get_context("spawn")  # a fork would inherit the parent's threads' locks
        ours, theirs = spawning.Pipe()
        worker = spawning.Process(target=_serve, args=(self._task, theirs, index), daemon=True)
        worker.start()
        theirs.close()
        self._workers.append(worker)
        self._lines.append(ours)

    def _message(self, index: int) -> Any:
        try:
            message = self._lines[index].recv()
        except (EOFError, OSError) as error:
            raise CommandFailed(f"Worker {index + 1} of {self._size} died in the middle of its work") from error
        if isinstance(message, BaseException):
            raise message
        return message

    def _end(self) -> None:
        with held_back():
            for worker in self._workers:
                worker.kill()
            for worker in self._workers:
                worker.join()
            for line in self._lines:
                line.close()


def _serve(task: Task, line: Line, index: int) -> None:
    """Run in the worker: do the task, and tell what it raised."""
    # A terminal sends Ctrl-C to all; whoever started this process ends it.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        task(line, index)
    except Exception as error:  # whatever it is, it is the other process that must hear of it
        with contextlib.suppress(OSError):
            line.send(error)
