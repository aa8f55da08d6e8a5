# SPDX-License-Identifier: Apache-2.0
"""Who places the servers of a trace: what a replay asks of it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from devstack.lab.replay.arrivals import Member, Wanted
from scheduler_svc.store.interface import Store

Given = Sequence[str] | None  # a host for each server of a request, or none for all of them
Refused = Callable[[Wanted], None]  # is told of a refusal as soon as it is known


@dataclass(frozen=True, slots=True)
class Placed:
    """A server that has a host."""

    member: Member
    host: str


class Placer(Protocol):
    """Places and lets leave; ``store`` is for those who look on, ``seconds`` is what placing took so far."""

    store: Store
    seconds: float

    def place(self, wanted: Sequence[Wanted], refused: Refused) -> list[Given]:
        """Place what arrives at one moment, and tell for each request where."""

    def leave(self, leaving: Sequence[Placed]) -> None:
        """Let servers leave; what they held is free when this returns."""
