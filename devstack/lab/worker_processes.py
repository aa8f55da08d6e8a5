# SPDX-License-Identifier: Apache-2.0
"""Worker processes of a measurement, and the pipes to them."""

import contextlib
import multiprocessing
import time
from collections.abc import Callable, Sequence
from multiprocessing import connection
from typing import Any

from rpcapi.cli.command import CommandFailed

POLL_SECONDS = 0.2

PipeEnd = connection.Connection
Task = Callable[[PipeEnd, int], None]


class WorkerProcesses:
    """Processes that run ``task(pipe, index)``; they share no lock, so that a killed worker blocks no other."""

    def __init__(self, size: int, task: Task) -> None:
        self._size = size
        self._task = task
        self._workers: list[Any] = []
        self._pipes: list[PipeEnd] = []

    def __enter__(self) -> "WorkerProcesses":
        try:
            for index in range(self._size):
                self._begin(index)
        except BaseException:
            self._end()
            raise
        return self

    def __exit__(self, *error: object) -> None:
        self._end()

    def send(self, messages: Sequence[Any]) -> None:
        for pipe, message in zip(self._pipes, messages, strict=True):
            with contextlib.suppress(OSError):  # receive() reports a dead worker
                pipe.send(message)

    def receive(self, seconds: float | None = None) -> list[Any]:
        """Return one message per worker. Raises a worker's error, or CommandFailed if one died or sent nothing."""
        deadline = None if seconds is None else time.monotonic() + seconds
        messages: dict[int, Any] = {}
        while len(messages) < self._size:
            pending = {pipe: index for index, pipe in enumerate(self._pipes) if index not in messages}
            for pipe in connection.wait(list(pending), POLL_SECONDS):
                messages[pending[pipe]] = self._message(pending[pipe])  # type: ignore[index]
            if deadline is not None and time.monotonic() > deadline and len(messages) < self._size:
                raise CommandFailed(f"{self._size - len(messages)} of {self._size} workers sent nothing in {seconds} s")
        return [messages[index] for index in range(self._size)]

    def _begin(self, index: int) -> None:
        spawning = multiprocessing.get_context("spawn")  # a fork would inherit locks of the parent's threads
        own_end, worker_end = spawning.Pipe()
        worker = spawning.Process(target=_serve, args=(self._task, worker_end, index), daemon=True)
        worker.start()
        worker_end.close()
        self._workers.append(worker)
        self._pipes.append(own_end)

    def _message(self, index: int) -> Any:
        try:
            message = self._pipes[index].recv()
        except (EOFError, OSError) as error:
            raise CommandFailed(f"Worker {index + 1} of {self._size} died during the measurement") from error
        if isinstance(message, BaseException):
            raise message
        return message

    def _end(self) -> None:
        for worker in self._workers:
            worker.kill()
        for worker in self._workers:
            worker.join()
        for pipe in self._pipes:
            pipe.close()


def _serve(task: Task, pipe: PipeEnd, index: int) -> None:
    try:
        task(pipe, index)
    except Exception as error:  # the parent process reports any error
        with contextlib.suppress(OSError):
            pipe.send(error)
