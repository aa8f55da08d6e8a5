# SPDX-License-Identifier: Apache-2.0
"""Interface of all store backends, which must pass one shared test suite."""

from typing import Unpack

from rpcapi.bounds import StoreBounds
from scheduler_svc.store.certainty import RepeatCounter
from scheduler_svc.store.external_states import ExternalStates
from scheduler_svc.store.protocols.claims import ClaimAudits, ClaimVerbs
from scheduler_svc.store.protocols.host_state import HostReportStore
from scheduler_svc.store.protocols.log import DecisionRecordStore, LogStore
from scheduler_svc.store.protocols.maintenance import MaintenanceStore, PinStore
from scheduler_svc.store.protocols.providers import ReshapingStore
from scheduler_svc.store.records import DEFAULTS, StoreOptions


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

    Every verb is atomic and idempotent: a repeated call changes nothing and returns the recorded answer. Times are
    partition time. Refusals are return values.

    Raises:
        StoreUnavailable: from every verb, if the server does not answer or cannot serve.
        StoreFull: from verbs that would add a claim, pin, host or document to a full collection.
    """

    def __init__(self, partition: str, **options: Unpack[StoreOptions]) -> None:
        if unknown := options.keys() - DEFAULTS.keys():
            raise TypeError(f"a store has no options {', '.join(sorted(unknown))}")
        self.partition = partition
        self.options = DEFAULTS | options
        self.bounds = StoreBounds("", {})
        self.external: ExternalStates | None = None
        self.repeats = RepeatCounter()
        self._declared = frozenset(self.options["namespaces"])

    def close(self) -> None:
        if self.external is not None:
            self.external.close()
