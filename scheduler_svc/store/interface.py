# SPDX-License-Identifier: Apache-2.0
"""The store interface: the verbs that every backend implements and one shared test suite checks."""

import abc
from typing import Protocol

from scheduler_svc.store.protocols.allocations import AllocationStore
from scheduler_svc.store.protocols.claims import ClaimAudits, ClaimQueries, ClaimVerbs
from scheduler_svc.store.protocols.host_state import HostReportStore, LivenessStore
from scheduler_svc.store.protocols.log import DecisionRecordStore, LogStore
from scheduler_svc.store.protocols.maintenance import MaintenanceStore, PinStore
from scheduler_svc.store.protocols.providers import ProviderStore
from scheduler_svc.store.protocols.reshaping import ReshapingStore


class Store(
    ClaimVerbs,
    ClaimQueries,
    ClaimAudits,
    HostReportStore,
    ProviderStore,
    AllocationStore,
    ReshapingStore,
    LivenessStore,
    LogStore,
    DecisionRecordStore,
    MaintenanceStore,
    PinStore,
    Protocol,
):
    """One partition's host state, claims and log.

    Each verb is atomic and idempotent by its identity: repeating it changes nothing and returns the recorded
    answer. Time is the store's own. Every verb raises StoreUnavailable when the store does not answer, or answers
    that it cannot serve. A rejection is a return value.
    """

    partition: str

    def accepts_claims(self) -> bool:
        """Return whether new claims are accepted, as far as this process knows; nothing is sent to the store."""
        return True

    @abc.abstractmethod
    def close(self) -> None:
        """Close all connections; the stored data stays."""
