# SPDX-License-Identifier: Apache-2.0
"""Bridge that reads Nova's databases: its parts, and its worker process."""

import socket
import threading
import uuid
from functools import partial

from oslo_config import cfg
from oslo_log import log

from rpcapi import errors
from rpcapi.daemon.waiting import wait_for
from scheduler_svc import databases
from scheduler_svc.composition.scheduling import milliseconds
from scheduler_svc.composition.stores import ConfiguredStores
from scheduler_svc.conf import namespaces as namespaces_conf
from scheduler_svc.core.namespaces import compute_node
from scheduler_svc.core.namespaces.registry import NamespaceRegistry
from scheduler_svc.nova import namespaces
from scheduler_svc.nova.bridge import signals
from scheduler_svc.nova.bridge.api_database import ApiDatabase
from scheduler_svc.nova.bridge.bridge import NovaBridge
from scheduler_svc.nova.bridge.cell_database import CellDatabase, cell_url
from scheduler_svc.nova.bridge.cells import CellReaders
from scheduler_svc.nova.bridge.loop import BridgeLoop
from scheduler_svc.nova.bridge.publisher import DocumentPublisher
from scheduler_svc.replication.partitions import StoreOpener
from scheduler_svc.store import aggregates
from scheduler_svc.store.interface import Store
from scheduler_svc.store.lease import DocumentLease

LOG = log.getLogger(__name__)

CELL_SECONDS = 10.0  # longest wait of a pass for cells' databases; slower cells join a later pass


def build(conf: cfg.ConfigOpts, store: Store) -> BridgeLoop:
    """Build the bridge to the store of nova-compute's partition; read nothing yet. Raises BadConfiguration."""
    options = conf.nova
    owner = f"{socket.gethostname()}:{uuid.uuid4().hex}"
    lease = DocumentLease(store, signals.LEASE, owner, options.bridge_lease)
    registry: NamespaceRegistry = namespaces_conf.load(conf)
    computes, aggregate_documents, own = (
        DocumentPublisher(store, registry.find(name), lease.keep)
        for name in (compute_node.NAMESPACE, aggregates.NAMESPACE, namespaces.BRIDGE_NAMESPACE)
    )
    login = (options.cell_database, options.cell_username, options.cell_password)
    cells = CellReaders(lambda connection: CellDatabase(cell_url(connection, *login)))
    bridge = NovaBridge(
        _api_database(options.api_database),
        cells,
        store,
        computes=computes,
        aggregates=aggregate_documents,
        own=own,
        interval_ms=milliseconds(options.bridge_interval),
        down_ms=milliseconds(options.service_down_time),
        cell_seconds=CELL_SECONDS,
    )
    return BridgeLoop(
        bridge,
        partial(signals.answer_question, store, cells.on_hosts),
        lease,
        store,
        interval_s=options.bridge_interval,
        full_interval_s=options.bridge_full_interval,
    )


def _api_database(url: str) -> ApiDatabase:
    try:
        return ApiDatabase(url)
    except databases.DatabaseUnusable as error:
        raise errors.BadConfiguration(why=f"[nova] api_database: {error}") from error


STORE_SECONDS = 10.0  # longest wait of a pass for a silent store; the pass is then repeated


class NovaBridgeService:
    """Service that copies the state of Nova's databases to the store. Implements rpcapi.daemon's service protocol."""

    def __init__(self, conf: cfg.ConfigOpts, _worker_index: int = 0, opener: StoreOpener | None = None) -> None:
        self._conf = conf
        self._opener = opener or ConfiguredStores(conf, STORE_SECONDS)
        self._stopping = threading.Event()
        self._store: Store | None = None
        self._loop: BridgeLoop | None = None

    def start(self) -> None:
        """Start the bridge. Raises BadConfiguration, and ShutdownRequested if stopped while waiting for the store."""
        store = self._store = self._opener(self._conf.rpc.partition)
        loop = self._loop = build(self._conf, store)
        wait_for("The store", store.check_identity, self._stopping, retry_on=(errors.Unavailable,))
        loop.start()
        LOG.info("Bridge writes to partition %s", self._conf.rpc.partition)

    def stop(self) -> None:
        self._stopping.set()
        if self._loop is not None:
            self._loop.stop()

    def wait(self) -> None:
        """Wait until the current pass has ended and the lease is released, then close the store."""
        if self._loop is not None:
            self._loop.wait()
        if self._store is not None:
            self._store.close()

    def reset(self) -> None:
        """Do nothing: each pass rereads the cells, and no option is mutable."""
