# SPDX-License-Identifier: Apache-2.0
"""Partitions of the real cluster: each with a store and a claims service, and a scheduler that knows all of them."""

from collections.abc import Mapping, Sequence
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from rpcapi import errors, objects
from rpcapi.context import RequestContext
from rpcapi.resources import names
from rpcapi.resources.claims import Answer
from scheduler_svc.endpoints import decode, encode
from scheduler_svc.scheduling.calls import SelectionCall
from scheduler_svc.scheduling.earlier_attempts import EarlierAttempts
from tests.support.conductor.fakes import FakeScheduler
from tests.support.conductor.ledger import Ledger
from tests.support.conductor.live_cluster import StoreClaims
from tests.support.simulation.moves_hosts import AuditedClaims
from tests.support.store.store_partition import LONG_MS, StorePartition

if TYPE_CHECKING:
    from tests.model.real_cluster import RealCluster


class GracefulClaims(AuditedClaims):
    """The claims service, whose grace period for orphans is over when the cluster says so."""

    def audit_host(self, ctxt: RequestContext, report: objects.AuditReport) -> objects.AuditAnswer:
        grace_ms = 0 if self._cluster.grace_is_over else LONG_MS  # type: ignore[attr-defined]
        return encode.audit_answer(self.store.audit(report.host, report.epoch, decode.running(report), grace_ms), None)


class RealPartition:
    """One of several partitions: its store, and the claims service, which aborts in the others too."""

    def __init__(self, name: str, partition: StorePartition, ledger: Ledger) -> None:
        self.name = name
        self.partition = partition
        self.ledger = ledger
        self.store: Any = partition.store
        self.presence = SimpleNamespace(record_failure=lambda: None)


class PartitionClaims(GracefulClaims):
    """The claims service of one of several partitions."""

    def __init__(self, cluster: "RealCluster", place: RealPartition, places: Sequence[RealPartition]) -> None:
        StoreClaims.__init__(self, place.ledger)
        self._cluster = cluster
        self._place = place
        self._earlier_attempts = EarlierAttempts(places)  # type: ignore[arg-type]

    def abort_claims(
        self,
        ctxt: RequestContext,
        refs: objects.ClaimRefs,
        host: str | None = None,
        destinations: list[str | None] | None = None,
    ) -> objects.ClaimAnswers:
        if host is not None:
            return super().abort_claims(ctxt, refs, host, destinations)
        claim_refs = decode.refs(refs)
        answers = self.store.abort(claim_refs, None, destinations)
        everywhere = self._earlier_attempts.abort(self._place.name, claim_refs, answers, destinations)
        return encode.claim_answers(everywhere, Answer.ABORTED)


class RoutedScheduler(FakeScheduler):
    """Selects in the partition that knows an attempt, and otherwise in the first one that has a node to choose."""

    def __init__(self, places: Sequence[RealPartition]) -> None:
        super().__init__(places[0].ledger)
        self._places = {place.name: place for place in places}
        self._earlier_attempts = EarlierAttempts(places)  # type: ignore[arg-type]
        self.partitions = list(self._places)

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
        self.ledger = self._places[name].ledger
        try:
            selections = super().select_destinations(ctxt, spec, uuids, attempt, alternates, fresh=fresh, moves=moves)
        except errors.ClaimError as error:
            error.kwargs["partition"] = name
            raise
        finally:
            self.ledger = next(iter(self._places.values())).ledger
        selections.partition = name
        return selections

    def _first_with_nodes(self, spec: objects.RequestSpec) -> str:
        for name, place in self._places.items():
            if any(not {node, names.host_of(node)} & set(spec.ignore_hosts) for node in place.ledger.nodes):
                return name
        return self.partitions[0]

    def get_host_state(self, ctxt: RequestContext, namespace: str, name: str) -> objects.HostState:
        document = {"alive": name not in self.down}
        return objects.HostState.of(namespace=namespace, name=name, version=1, document=document)

    def dry_run(
        self, ctxt: RequestContext, spec: objects.RequestSpec, count: int = 1, scope: str = "all"
    ) -> objects.Decision:
        return objects.Decision.of(
            request_id=ctxt.request_id, partition=self.partitions[0], document={"outcome": "selected"}
        )
