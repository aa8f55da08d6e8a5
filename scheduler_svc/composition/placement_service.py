# SPDX-License-Identifier: Apache-2.0
"""Worker process of gantt-placement, and its application for other WSGI servers."""

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

STORE_SECONDS = 5.0  # longest wait of a request for a silent store; its client then gets 503


class PlacementService:
    """Service of Placement's HTTP API. Implements rpcapi.daemon's service protocol."""

    def __init__(self, conf: cfg.ConfigOpts, worker_index: int, opener: StoreOpener | None = None) -> None:
        self._conf = conf
        self._index = worker_index
        self._opener = opener or ConfiguredStores(conf, STORE_SECONDS)
        self._stopping = threading.Event()
        self._worker: PlacementWorker | None = None

    def start(self) -> None:
        """Load the providers, then serve. Raises BadConfiguration, and ShutdownRequested if stopped meanwhile."""
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
        """Wait until accepted requests are answered and all threads have ended, then close the stores."""
        if self._worker is not None:
            self._worker.server.wait()
            self._worker.silence.stop()
            self._worker.silence.wait()
            _close(self._worker.parts)

    def reset(self) -> None:
        """Reload the certificate and the policy file. Raises BadConfiguration and keeps the previous ones."""
        if self._worker is not None:
            self._worker.server.reset()
            self._worker.parts.policies.reload()


def load_application(conf: cfg.ConfigOpts) -> WSGIApplication:
    """Wait for the store, load all providers, and return the application for another WSGI server.

    A thread follows the store until the process exits, so forking servers must call this in each process. Raises
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
