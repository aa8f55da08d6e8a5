# SPDX-License-Identifier: Apache-2.0
"""A simulated cluster of two partitions with stores of their own, and the real scheduler of several partitions."""

from collections.abc import Mapping, Sequence
from typing import Any

from rpcapi import objects
from rpcapi.context import RequestContext
from rpcapi.resources.names import host_of
from scheduler_svc.core.records import ClaimRef
from scheduler_svc.endpoints import decode, encode
from scheduler_svc.scheduling.calls import SelectionCall
from tests.support.conductor.fakes import FakeScheduler
from tests.support.conductor.ledger import PARTITION, TTL_MS, Ledger
from tests.support.conductor.live_cluster import StoreClaims
from tests.support.conductor.partitions import WEST, Ledgers
from tests.support.conductor.simulated_cluster import LIMITS, SimulatedCluster
from tests.support.scheduler.deployments import DeploymentWorker, FragileStore
from tests.support.scheduler.replica_views import FILTER_POLICY


class HostStores:
    """The verbs of agents, each in the store of its host's partition."""

    def __init__(self, stores: Mapping[str, Any]) -> None:
        self._stores = stores  # by host

    def confirm(self, host: str, refs: Sequence[ClaimRef]) -> Any:
        return self._stores[host].confirm(host, refs)

    def release(self, host: str, refs: Sequence[ClaimRef]) -> Any:
        return self._stores[host].release(host, refs)

    def abort(self, refs: Sequence[ClaimRef], host: str) -> Any:
        return self._stores[host].abort(refs, host)


class PartitionedScheduler(FakeScheduler):
    """Selects with the real scheduler of several partitions."""

    def __init__(self, ledger: Ledger, worker: DeploymentWorker) -> None:
        super().__init__(ledger)
        self._worker = worker
        self.partitions = [PARTITION, WEST]

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
        self._worker.follow()
        call = SelectionCall(
            *(ctxt, decode.request(ctxt, spec), uuids, attempt, alternates, spec.consumer_type),
            fresh=fresh,
            moves=decode.moves(moves, len(uuids)),
        )
        return encode.selections(attempt, self._worker.scheduler.select(FILTER_POLICY, call))


class TwoPartitionCluster(SimulatedCluster):
    """Hosts in PARTITION, and others in WEST; each map has the VCPUs of nodes."""

    def __init__(self, here: Mapping[str, int], west: Mapping[str, int]) -> None:
        self.now_ms = 0
        stores = {name: FragileStore(name, lambda: self.now_ms) for name in (PARTITION, WEST)}
        super().__init__(here, LIMITS, stores[PARTITION])
        ledgers = {PARTITION: self.ledger, WEST: Ledger(west, lambda: self.now_ms, stores[WEST])}
        worker = DeploymentWorker(stores, lambda: self.now_ms, TTL_MS)
        self.scheduler = PartitionedScheduler(self.ledger, worker)
        self._claims = {name: StoreClaims(ledger, name, worker.partitions) for name, ledger in ledgers.items()}
        self.hosts.partitions = {host_of(node): name for name, ledger in ledgers.items() for node in ledger.nodes}
        self.hosts._store = HostStores({host: stores[name] for host, name in self.hosts.partitions.items()})
        self.ledger: Any = Ledgers(ledgers)

    def claims_of(self, partition: str) -> StoreClaims:
        return self._claims[partition]

    def partition_of(self, uuid: str) -> str | None:
        """Return the partition in which a consumer has its live claim."""
        names = [name for name, ledger in self.ledger.by_partition.items() if uuid in ledger.live()]
        return names[0] if names else None
