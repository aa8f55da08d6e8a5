# SPDX-License-Identifier: Apache-2.0
"""The store interface, implemented by every backend and checked by one shared test suite."""

from collections.abc import Collection

from rpcapi.bounds import StoreBounds
from scheduler_svc.store.certainty import RepeatCounter
from scheduler_svc.store.external_states import ExternalStates
from scheduler_svc.store.protocols.audits import ClaimAudits
from scheduler_svc.store.protocols.claims import ClaimVerbs
from scheduler_svc.store.protocols.host_state import HostReportStore
from scheduler_svc.store.protocols.log import DecisionRecordStore, LogStore
from scheduler_svc.store.protocols.maintenance import MaintenanceStore, PinStore
from scheduler_svc.store.protocols.reshaping import ReshapingStore


class Store(
    ClaimVerbs,
    ClaimAudits,
    HostReportStore,
    ReshapingStore,
    LogStore,
    DecisionRecordStore,
    MaintenanceStore,
    PinStore,
):
    """Host state, claims and log of one partition.

    Every verb is atomic and idempotent: repeating it changes nothing and returns the recorded answer. Times are
    partition time. Rejections are return values. Every verb raises StoreUnavailable if the store does not answer or
    cannot serve, and StoreFull for new claims, pins, hosts and documents while their collection is at its bound.
    """

    def __init__(self, partition: str, *, decision_bytes: int, namespaces: Collection[str]) -> None:
        """``decision_bytes`` limits the decision record; ``namespaces`` are the declared ones."""
        self.partition = partition
        self.bounds = StoreBounds("", {})
        self.external: ExternalStates | None = None
        self.repeats = RepeatCounter()
        self._decision_bytes = decision_bytes
        self._declared: Collection[str] = frozenset(namespaces)

    def close(self) -> None:
        """Close all connections; stored data stays."""
        if self.external is not None:
            self.external.close()
