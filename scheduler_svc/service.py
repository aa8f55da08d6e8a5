# SPDX-License-Identifier: Apache-2.0
"""Worker process of the scheduler: start, reload and stop."""

import threading
from functools import partial
from typing import Any

from oslo_config import cfg
from oslo_log import log

from rpcapi import errors
from rpcapi.daemon import state_report
from rpcapi.daemon.waiting import wait_for
from rpcapi.messaging import bus, foreign
from scheduler_svc.composition import malloc_tuning, policy, worker
from scheduler_svc.composition.stores import ConfiguredStores
from scheduler_svc.core import reads
from scheduler_svc.replication.partition_set import StoreOpener

LOG = log.getLogger(__name__)

RENEW_SECONDS = 15.0  # longest wait of a reload for the data that new filters and weighers read


class SchedulerService:
    """Service of topics ``scheduler`` and ``claims.<partition>``. Implements rpcapi.daemon's service protocol."""

    def __init__(self, conf: cfg.ConfigOpts, worker_index: int, opener: StoreOpener | None = None) -> None:
        self._conf = conf
        self._index = worker_index
        self._opener = opener or ConfiguredStores(conf)
        self._stopping = threading.Event()
        self._worker: worker.SchedulerWorker | None = None
        self._servers: list[Any] = []  # started servers

    def start(self) -> None:
        """Load the hosts, then serve. Raises BadConfiguration, and ShutdownRequested if stopped meanwhile."""
        malloc_tuning.keep_freed_memory()
        parts = self._worker = worker.build(self._conf, self._index, self._opener)
        wait_for("The store", parts.partition_set.load, self._stopping, retry_on=(errors.Unavailable,))
        wait_for(
            "The message bus", partial(bus.connect, parts.transport), self._stopping, retry_on=(errors.Unavailable,)
        )
        if parts.nova is not None:
            wait_for(
                "Nova's message bus",
                partial(foreign.probe, parts.nova.transport),
                self._stopping,
                retry_on=(errors.Unavailable,),
            )
        parts.partition_set.follow()
        state_report.add_section("Partitions", parts.partition_set.describe)
        for server in parts.servers:
            server.start()
            self._servers.append(server)
        for task in parts.tasks:
            task.start()
        partitions = parts.partition_set.partitions
        hosts = partitions.own.replica.unchecked_table.hosts
        LOG.info("Worker %d serves %d partitions with %d hosts", self._index, len(partitions), hosts)

    def stop(self) -> None:
        """Stop accepting messages."""
        self._stopping.set()
        for server in self._servers:
            server.stop()

    def wait(self) -> None:
        """Wait until accepted calls are answered and all threads have ended, then close stores and connections."""
        for server in self._servers:
            server.stop()
            server.wait()
        if self._worker is None:
            return
        for task in self._worker.tasks:
            task.stop()
        self._worker.partition_set.stop()
        for task in self._worker.tasks:
            task.wait()
        self._worker.partition_set.close()
        self._worker.transport.cleanup()
        if self._worker.nova is not None:
            self._worker.nova.transport.cleanup()

    def reset(self) -> None:
        """Apply the current filters, weighers and intervals.

        Raises BadConfiguration, and StoreUnavailable if the host state for new filters and weighers cannot be read in
        time; the filters and weighers stay unchanged then.
        """
        if self._worker is None:
            return
        new_policy = policy.load(self._conf)
        partition_set = self._worker.partition_set
        table = partition_set.partitions.own.replica.unchecked_table
        if not reads.covers(table.reads, new_policy.reads):
            table.add_reads(new_policy.reads)
            if not partition_set.reload(RENEW_SECONDS):
                raise errors.StoreUnavailable(
                    why=f"it did not return the data of new filters and weighers within {RENEW_SECONDS:.0f} s"
                )
        self._worker.scheduling.current.policy = new_policy
