# SPDX-License-Identifier: Apache-2.0
"""A worker process of gantt-placement, or its application for another WSGI server."""

import atexit
import threading
from wsgiref.types import WSGIApplication

from oslo_config import cfg
from oslo_log import log

from rpcapi import errors
from rpcapi.daemon.waiting import wait_for
from scheduler_svc.composition import malloc_tuning
from scheduler_svc.composition.placement import PlacementParts, PlacementWorker, build, build_worker
from scheduler_svc.composition.stores import ConfiguredStores
from scheduler_svc.replication.partition_set import StoreOpener

LOG = log.getLogger(__name__)

STORE_SECONDS = 5.0  # wait of a request for a silent store, before its client gets 503


class PlacementService:
    """Service of Placement's HTTP API, with the service protocol of rpcapi.daemon."""

    def __init__(self, conf: cfg.ConfigOpts, worker_index: int, opener: StoreOpener | None = None) -> None:
        """``opener`` opens the store of a partition; by default as configured."""
        self._conf = conf
        self._index = worker_index
        self._opener = opener or ConfiguredStores(conf, STORE_SECONDS)
        self._stopping = threading.Event()
        self._worker: PlacementWorker | None = None

    def start(self) -> None:
        """Load the providers and serve; raises BadConfiguration, and ShutdownRequested if stopped meanwhile."""
        worker = self._worker = build_worker(self._conf, self._opener)
        _load(worker.parts, self._stopping)
        worker.silence.start()
        worker.server.start()
        LOG.info("Worker %d serves %s", self._index, worker.server.url)

    def stop(self) -> None:
        self._stopping.set()
        if self._worker is not None:
            self._worker.server.stop()

    def wait(self) -> None:
        """Wait until accepted requests are answered and all threads have ended."""
        if self._worker is not None:
            self._worker.server.wait()
            self._worker.silence.stop()
            self._worker.silence.wait()
            _close(self._worker.parts)

    def reset(self) -> None:
        """Apply the current certificate and policy file; raises BadConfiguration and keeps the previous ones."""
        if self._worker is not None:
            self._worker.server.reset()
            self._worker.parts.policies.reload()


def load_application(conf: cfg.ConfigOpts) -> WSGIApplication:
    """Return the WSGI application for another server, once all providers are loaded; waits for the store.

    A thread follows the store until the process exits, so a forking server must call this in each process. Raises
    BadConfiguration.
    """
    parts = build(conf, ConfiguredStores(conf, STORE_SECONDS))
    _load(parts, threading.Event())
    atexit.register(_close, parts)
    return parts.application


def _load(parts: PlacementParts, stopping: threading.Event) -> None:
    malloc_tuning.keep_freed_memory()
    wait_for("The store", parts.partition_set.load, stopping, retry_on=(errors.Unavailable,))
    parts.partition_set.follow()


def _close(parts: PlacementParts) -> None:
    parts.partition_set.stop()
    parts.partition_set.close()
