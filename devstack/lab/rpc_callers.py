# SPDX-License-Identifier: Apache-2.0
"""Client processes, each with a connection of its own, that call one after the other for a while, all together."""

import contextlib
import functools
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from devstack.lab.crew import Crew, Line
from devstack.lab.processor import seconds_below

ECHO = 0  # in place of a batch's size
START_SECONDS = 60.0
CALL_SECONDS = 30.0


@dataclass(frozen=True, slots=True)
class Spell:
    """What one client did in one spell: when each call ended and what it took, in seconds, and how many were refused.

    ``began`` and the ends are of the machine's monotonic clock, which its processes share.
    """

    began: float
    ends: np.ndarray
    seconds: np.ndarray
    refused: int


@dataclass(frozen=True, slots=True)
class Lot:
    """What all clients did in one spell, and the processor time that all processes of the measurement took for it."""

    spells: Sequence[Spell]
    processor_s: float = 0.0

    @property
    def calls(self) -> int:
        """How many calls were answered."""
        return sum(len(spell.ends) for spell in self.spells)

    @property
    def refused(self) -> int:
        """How many of them found no host."""
        return sum(spell.refused for spell in self.spells)

    @property
    def elapsed(self) -> float:
        """Seconds from the first call's start to the last one's end."""
        return max(spell.ends[-1] for spell in self.spells) - min(spell.began for spell in self.spells)

    @property
    def seconds(self) -> np.ndarray:
        """What the calls took."""
        return np.concatenate([spell.seconds for spell in self.spells])


@dataclass(frozen=True, slots=True)
class Figures:
    """What several lots say together."""

    lots: Sequence[Lot]

    @property
    def per_second(self) -> float:
        """Calls a second of all clients together."""
        return sum(lot.calls for lot in self.lots) / sum(lot.elapsed for lot in self.lots)

    @property
    def processor_ms(self) -> float:
        """Milliseconds of processor time that a call takes clients, broker, daemons and store together."""
        return 1e3 * sum(lot.processor_s for lot in self.lots) / sum(lot.calls for lot in self.lots)

    def percentile_ms(self, percent: float) -> float:
        """Return a percentile of what a call took, in milliseconds."""
        return float(np.percentile(np.concatenate([lot.seconds for lot in self.lots]), percent)) * 1e3


class Callers:
    """So many client processes on a bus."""

    def __init__(self, crew: Crew, clients: int) -> None:
        self._crew = crew
        self._clients = clients

    def call(self, size: int, seconds: float) -> Lot:
        """Let all clients call for so long: the echo, or a selection for ``size`` instances.

        Raises what a client met, and CommandFailed when one is gone or got no answer.
        """
        before = seconds_below(os.getpid())
        self._crew.tell([(size, seconds)] * self._clients)
        spells = self._crew.hear(START_SECONDS + seconds + CALL_SECONDS)
        return Lot(spells, seconds_below(os.getpid()) - before)


@contextlib.contextmanager
def calling(url: str, clients: int) -> Iterator[Callers]:
    """Start so many clients, and end them."""
    with Crew(clients, functools.partial(_serve, url)) as crew:
        yield Callers(crew, clients)


def _serve(url: str, line: Line, index: int) -> None:
    """Run in a client: make a spell of calls whenever told."""
    from rpcapi.daemon import concurrency  # noqa: PLC0415 - first of all settles what the libraries run on

    concurrency.choose("threading")
    from devstack.lab.rpc_caller import Caller  # noqa: PLC0415 - see above

    caller = Caller(url, index)
    with contextlib.suppress(EOFError):
        while True:
            line.send(caller.spell(*line.recv()))
