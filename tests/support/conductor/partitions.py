# SPDX-License-Identifier: Apache-2.0
"""Partitions of a simulated cluster: their ledgers together, and a scheduler that knows all of them."""

from collections.abc import Mapping, Sequence
from types import SimpleNamespace
from typing import Any

from rpcapi import errors, objects
from rpcapi.context import RequestContext
from scheduler_svc.endpoints import decode
from scheduler_svc.host_state.stamps import CONDUCTORS
from scheduler_svc.scheduling.calls import SelectionCall
from scheduler_svc.scheduling.earlier_attempts import EarlierAttempts
from tests.support.conductor.fakes import FakeScheduler, allowed_nodes
from tests.support.conductor.ledger import Ledger
from tests.support.simulation.promises import require
from tests.support.store.store_partition import StorePartition

WEST = "west"  # the second partition


class Ledgers:
    """The ledgers of all partitions together."""

    def __init__(self, ledgers: Mapping[str, Ledger]) -> None:
        self.by_partition = dict(ledgers)
        self.nodes = [node for ledger in ledgers.values() for node in ledger.nodes]

    def live(self) -> dict[str, tuple[str, int, str]]:
        """Return (host, attempt, state) of each consumer's live claim; none may have one in each partition."""
        live: dict[str, tuple[str, int, str]] = {}
        for ledger in self.by_partition.values():
            claims = ledger.live()
            both = claims.keys() & live.keys()
            require(3, not both, f"claims in two partitions: {[(live[name], claims[name]) for name in both]}")
            live |= claims
        return live

    def problems(self) -> list[str]:
        return [problem for ledger in self.by_partition.values() for problem in ledger.problems()]


class LedgerPartition:
    """One of several partitions: its store with faults, its nodes, and the last copy of its data."""

    def __init__(self, name: str, backend: StorePartition, ledger: Ledger) -> None:
        self.name = name
        self.backend = backend
        self.ledger = ledger
        self.store: Any = backend.store
        self.presence = SimpleNamespace(record_failure=lambda: None)
        self.mark: Any = None


class RoutedScheduler(FakeScheduler):
    """Selects in the partition that knows an attempt, and otherwise in the first one that has a node to choose."""

    def __init__(self, partitions: Sequence[LedgerPartition]) -> None:
        super().__init__(partitions[0].ledger)
        self._partitions = {partition.name: partition for partition in partitions}
        self._earlier_attempts = EarlierAttempts(partitions)  # type: ignore[arg-type]
        self.partitions = list(self._partitions)

    def exchange_stamps(self, ctxt: RequestContext, stamps: dict[str, str]) -> dict[str, str | None]:
        answer: dict[str, str | None] = {}
        for name, partition in self._partitions.items():
            proof = self.signer.verify(name, CONDUCTORS, stamps.get(name))
            answer[name] = self.signer.sign(
                name, CONDUCTORS, *partition.store.begin_epoch_if_behind(*(proof or (0, 0)))
            )
        return answer

    def select_destinations(
        self,
        ctxt: RequestContext,
        spec: objects.RequestSpec,
        uuids: list[str],
        attempt: int = 1,
        alternates: int = 2,
        *,
        fresh: bool = False,
        moves: Sequence[Mapping[str, Any] | None] = (),
    ) -> objects.Selections:
        call = SelectionCall(
            *(ctxt, decode.request(ctxt, spec), uuids, attempt, alternates, spec.consumer_type),
            fresh=fresh,
            moves=decode.moves(moves, len(uuids)),
        )
        name = (None if fresh else self._earlier_attempts.locate(call)) or self._first_with_nodes(spec)
        self.ledger = self._partitions[name].ledger
        try:
            selections = super().select_destinations(ctxt, spec, uuids, attempt, alternates, fresh=fresh, moves=moves)
        except errors.ClaimError as error:
            error.kwargs["partition"] = name
            raise
        finally:
            self.ledger = next(iter(self._partitions.values())).ledger
        selections.partition = name
        return selections

    def _allowed_nodes(self, spec: objects.RequestSpec) -> list[str]:
        return allowed_nodes(spec, self.ledger)

    def _first_with_nodes(self, spec: objects.RequestSpec) -> str:
        """Return the first partition with an allowed node: of a move that may leave its partition, another one."""
        own = spec.requested_destination.get("partition")
        if own is None:
            order = self.partitions
        elif spec.requested_destination.get("allow_cross_cell_move"):
            order = [*(name for name in self.partitions if name != own), own]
        else:
            order = [own]
        return next((name for name in order if allowed_nodes(spec, self._partitions[name].ledger)), order[0])

    def get_host_state(self, ctxt: RequestContext, namespace: str, name: str) -> objects.HostState:
        document = {"alive": name not in self.down}
        return objects.HostState.of(namespace=namespace, name=name, version=1, document=document)

    def dry_run(
        self, ctxt: RequestContext, spec: objects.RequestSpec, count: int = 1, scope: str = "all"
    ) -> objects.Decision:
        return objects.Decision.of(
            request_id=ctxt.request_id, partition=self.partitions[0], document={"outcome": "selected"}
        )
