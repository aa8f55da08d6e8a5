# SPDX-License-Identifier: Apache-2.0
"""Passes of the bridge: each reads Nova's databases and writes the differences to the store."""

import time
from collections.abc import Callable, Mapping
from typing import Any

from oslo_log import log

from scheduler_svc import metrics
from scheduler_svc.nova import namespaces
from scheduler_svc.nova.bridge import documents as build
from scheduler_svc.nova.bridge.api_database import ApiDatabase
from scheduler_svc.nova.bridge.cells import CellReaders
from scheduler_svc.nova.bridge.documents import CellMapping, Deployment, Documents
from scheduler_svc.nova.bridge.publisher import DocumentPublisher
from scheduler_svc.store.protocols.log import LogStore

LOG = log.getLogger(__name__)

MAX_UNMAPPED = 1000  # hosts listed in the bridge's own document


class NovaBridge:
    """Bridge from Nova's databases to one store, which works in passes. Not thread-safe."""

    def __init__(
        self,
        api: ApiDatabase,
        cells: CellReaders,
        store: LogStore,
        *,
        computes: DocumentPublisher,
        aggregates: DocumentPublisher,
        own: DocumentPublisher,
        interval_ms: int,
        down_ms: int,
        cell_seconds: float,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Create a bridge that has read nothing yet.

        Args:
            computes, aggregates, own: Publishers of the namespaces; ``own`` publishes the bridge's own document.
            interval_ms: Time between passes, recorded for readers.
            down_ms: Nova's service_down_time.
            cell_seconds: Longest wait of a pass for the cells' databases.
        """
        self._api = api
        self._cells = cells
        self._store = store
        self._compute_publisher, self._aggregate_publisher, self._own_publisher = computes, aggregates, own
        self._interval_ms = interval_ms
        self._down_ms = down_ms
        self._cell_seconds = cell_seconds
        self._clock = clock
        self._unmapped: list[str] = []

    def take_over(self) -> None:
        """Load the stored documents: before the first pass, and whenever another bridge may have written."""
        for publisher in (self._compute_publisher, self._aggregate_publisher, self._own_publisher):
            publisher.load()

    def run_pass(self, *, everything: bool) -> int:
        """Read changes, or ``everything``, and write the differences; return the number of writes.

        If the API database does not answer, nothing is written; if a cell's database does not, its hosts stay
        unchanged. Raises SQLAlchemy's errors of the API database, StoreUnavailable and VersionConflict.
        """
        began = self._clock()
        clock_ms = self._store.clock_ms()  # taken first: the read misses no change before it
        deployment = self._api.read()
        self._cells.read(deployment.cells, self._clock, self._cell_seconds, everything=everything)
        computes: Documents = {}
        for cell in deployment.cells.values():
            computes |= self._computes(cell, deployment, clock_ms)
        writes = self._compute_publisher.publish(computes)
        writes += self._aggregate_publisher.publish(build.aggregate_documents(deployment.aggregates, computes))
        self._own_publisher.publish({namespaces.BRIDGE: self._bridge_document(deployment, computes, clock_ms)})
        metrics.BRIDGE_PASS_SECONDS.labels(kind="all" if everything else "changes").observe(self._clock() - began)
        return writes

    def _computes(self, cell: CellMapping, deployment: Deployment, clock_ms: int) -> Documents:
        database = self._cells.current(cell)
        if database is not None:
            return build.compute_documents(
                cell,
                database.nodes,
                database.services,
                deployment.host_cells,
                now_ms=clock_ms,
                down_ms=self._down_ms,
            )
        return {
            name: {**document, **build.with_mapping(cell, document["service_host"], deployment.host_cells)}
            for name, document in self._compute_publisher.documents.items()
            if document["cell"] == cell.uuid
        }

    def _bridge_document(self, deployment: Deployment, computes: Documents, clock_ms: int) -> dict[str, Any]:
        unmapped = sorted({compute["service_host"] for compute in computes.values() if not compute["mapped"]})
        self._report_unmapped(unmapped)
        stored = self._own_publisher.documents.get(namespaces.BRIDGE, {}).get("cells", {})
        return {
            "read_ms": clock_ms,
            "interval_ms": self._interval_ms,
            "cells": {
                cell.uuid: self._cell_state(cell, stored.get(cell.uuid, {}), clock_ms)
                for cell in deployment.cells.values()
            },
            "unmapped": unmapped[:MAX_UNMAPPED],
            "all_computes_own": build.all_computes_own(
                service for database in self._cells.databases() for service in database.services
            ),
        }

    def _cell_state(self, cell: CellMapping, stored: Mapping[str, Any], clock_ms: int) -> dict[str, Any]:
        state: dict[str, Any] = {"name": cell.name, "disabled": cell.disabled}
        since_ms = 0
        if self._cells.current(cell) is None:
            since_ms = state["unread_since_ms"] = stored.get("unread_since_ms", clock_ms)
        age = (clock_ms - since_ms) / 1000 if since_ms else 0.0
        metrics.BRIDGE_CELL_AGE.labels(cell=cell.name or cell.uuid).set(max(age, 0.0))
        return state

    def _report_unmapped(self, unmapped: list[str]) -> None:
        metrics.BRIDGE_UNMAPPED.set(len(unmapped))
        new = sorted(set(unmapped) - set(self._unmapped))
        if new:
            LOG.warning(
                "%d compute hosts are not mapped to a cell and take no instances, first %s; run 'nova-manage cell_v2 "
                "discover_hosts'",
                len(new),
                ", ".join(new[:5]),
            )
        self._unmapped = unmapped
