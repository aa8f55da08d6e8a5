# SPDX-License-Identifier: Apache-2.0
"""Worker process of gantt-nova-bridge."""

import threading

from oslo_config import cfg
from oslo_log import log

from rpcapi import errors
from rpcapi.daemon.waiting import wait_for
from scheduler_svc.composition.nova_bridge import build
from scheduler_svc.composition.stores import ConfiguredStores
from scheduler_svc.nova.bridge.loop import BridgeLoop
from scheduler_svc.replication.partition_set import StoreOpener
from scheduler_svc.store.interface import Store

LOG = log.getLogger(__name__)

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
