# SPDX-License-Identifier: Apache-2.0
"""Concurrent client processes, each with its own connection, that send calls for a given time."""

import contextlib
import functools
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from devstack.lab.processor_time import descendant_cpu_seconds
from devstack.lab.timing import Times, take_turns, without_collection
from devstack.lab.worker_processes import PipeEnd, WorkerProcesses

KeyT = TypeVar("KeyT")
ECHO = 0  # takes the place of a batch size
CALL_SECONDS = 30.0

START_SECONDS = 60.0
LONGEST_BACKLOG = 4.0  # longest time for serving too many arrivals, relative to the time of their arrival


@dataclass(frozen=True, slots=True)
class ClientCalls:
    """Calls of one client in one block, by the monotonic clock that all processes share."""

    began: float
    ends: np.ndarray
    seconds: np.ndarray
    refusals: int


@dataclass(frozen=True)
class CallTimes(Times):
    """Durations, length and processor time of all clients' calls in blocks; ``refusals`` found no host."""

    elapsed: float
    refusals: int
    processor_s: float

    @classmethod
    def of(cls, clients: Sequence[ClientCalls], processor_s: float = 0.0) -> "CallTimes":
        elapsed = max(client.ends[-1] for client in clients) - min(client.began for client in clients)
        seconds = np.concatenate([client.seconds for client in clients])
        return cls(seconds, float(elapsed), sum(client.refusals for client in clients), processor_s)

    @classmethod
    def joined(cls, blocks: Sequence["CallTimes"]) -> "CallTimes":
        return cls(
            np.concatenate([block.seconds for block in blocks]),
            sum(block.elapsed for block in blocks),
            sum(block.refusals for block in blocks),
            sum(block.processor_s for block in blocks),
        )

    @property
    def per_second(self) -> float:
        return self.calls / self.elapsed

    @property
    def processor_ms(self) -> float:
        """Processor milliseconds per call of clients, broker, daemons and store together."""
        return 1e3 * self.processor_s / self.calls

    def figures(self, prefix: str = "") -> dict[str, float]:
        rates = {f"{prefix}calls_per_s": self.per_second, f"{prefix}processor_ms": self.processor_ms}
        return {**rates, **self.milliseconds(prefix)}


Blocks = Mapping[int, Sequence[CallTimes]]  # {batch size: calls}; the first block is the warm-up


class Callers:
    """Client processes on a bus."""

    def __init__(self, workers: WorkerProcesses, clients: int) -> None:
        self._workers = workers
        self._clients = clients

    def call_for(self, size: int, seconds: float, per_second: float | None = None) -> CallTimes:
        """Let all clients call for ``seconds``, with ``per_second`` arrivals in total. Raises CommandFailed."""
        rate = None if per_second is None else per_second / self._clients
        before = descendant_cpu_seconds(os.getpid())
        self._workers.send([(size, seconds, rate)] * self._clients)
        clients = self._workers.receive(START_SECONDS + LONGEST_BACKLOG * seconds + CALL_SECONDS)
        return CallTimes.of(clients, descendant_cpu_seconds(os.getpid()) - before)

    def run_blocks(
        self, sizes: Sequence[int], seconds: float, count: int, *, per_second: float | None = None
    ) -> Blocks:
        calls = {size: functools.partial(self.call_for, size, seconds, per_second) for size in sizes}
        return alternate_blocks(calls, count)


def alternate_blocks(calls: Mapping[KeyT, Callable[[], CallTimes]], count: int) -> dict[KeyT, list[CallTimes]]:
    """Return a warm-up block and ``count`` alternating blocks of each kind of calls."""
    blocks: dict[KeyT, list[CallTimes]] = {key: [] for key in calls}
    with without_collection():
        for _, key in take_turns(list(calls), count + 1):
            blocks[key].append(calls[key]())
    return blocks


@contextlib.contextmanager
def run_callers(urls: Sequence[str]) -> Iterator[Callers]:
    with WorkerProcesses(len(urls), functools.partial(_serve, urls)) as workers:
        yield Callers(workers, len(urls))


def _serve(urls: Sequence[str], pipe: PipeEnd, index: int) -> None:
    from rpcapi.daemon import concurrency  # noqa: PLC0415 - must select the executor before other imports

    concurrency.configure_executor("threading")
    from devstack.lab.rpc.caller import MeasuringCaller  # noqa: PLC0415 - see above

    caller = MeasuringCaller(urls[index], index)
    with contextlib.suppress(EOFError):
        while True:
            pipe.send(caller.call_for(*pipe.recv()))
