# SPDX-License-Identifier: Apache-2.0
"""Interface between a replay and what places its servers."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from devstack.lab.replay.arrivals import ReplayRequest, ReplayServer
from scheduler_svc.store.interface import Store

AssignedHosts = Sequence[str] | None  # one host per server of a request, or None if the request was refused
OnRefusal = Callable[[ReplayRequest], None]  # called immediately on a refusal


@dataclass(frozen=True, slots=True)
class PlacedServer:
    """A server and its host."""

    member: ReplayServer
    host: str


class Placer(Protocol):
    """Places and removes servers; ``store`` is for observers, ``seconds`` the time spent placing so far."""

    store: Store
    seconds: float

    def place(self, requests: Sequence[ReplayRequest], on_refusal: OnRefusal) -> list[AssignedHosts]:
        """Place the requests that arrive together; return the assigned hosts of each."""

    def leave(self, servers: Sequence[PlacedServer]) -> None:
        """Remove servers; their resources are free when this returns."""
