# SPDX-License-Identifier: Apache-2.0
"""The store: its verbs, which every backend implements and one shared test suite checks."""

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
    """One partition's host state, claims and log.

    Each verb is atomic and idempotent by its identity: repeating it changes nothing and returns the recorded
    answer. Time is the store's own. Every verb raises StoreUnavailable when the store does not answer, or answers
    that it cannot serve. A rejection is a return value.

    It raises StoreFull for new claims, pins, hosts and documents while their collection is at its bound.
    """

    def __init__(self, partition: str, *, decision_bytes: int, namespaces: Collection[str]) -> None:
        """``decision_bytes`` bounds the decision record, ``namespaces`` are declared."""
        self.partition = partition
        self.bounds = StoreBounds("", {})
        self.external: ExternalStates | None = None
        self.repeats = RepeatCounter()
        self._decision_bytes = decision_bytes
        self._declared: Collection[str] = frozenset(namespaces)

    def close(self) -> None:
        """Close all connections; the stored data stays."""
        if self.external is not None:
            self.external.close()
