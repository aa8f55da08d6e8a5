# SPDX-License-Identifier: Apache-2.0
"""Opens the stores of all partitions, and fills one table from them."""

import time
from collections.abc import Callable

from oslo_config import cfg
from oslo_log import log

from rpcapi import errors
from rpcapi.conf import replicas
from scheduler_svc.conf import namespaces, partitions
from scheduler_svc.following.replica import Replica
from scheduler_svc.notifications import turn
from scheduler_svc.partitions import Partition, Partitions
from scheduler_svc.reads import Reads
from scheduler_svc.servicegroup import liveness
from scheduler_svc.store import Store, open_store
from scheduler_svc.store.factory import open_beside
from scheduler_svc.table.table import HostTable

LOG = log.getLogger(__name__)

Opener = Callable[[cfg.ConfigOpts, str], Store]


def open_configured(conf: cfg.ConfigOpts, partition: str) -> Store:
    """Open a partition's store as it is configured; raises BadConfiguration."""
    declared = (*namespaces.load(conf).kept, turn.NAMESPACE)
    store = open_store(
        partitions.url(conf, partition),
        partition,
        durability=conf.store.durability,
        log_length=conf.store.log_length,
        decisions=conf.store.decisions,
        namespaces=declared,
        liveness=liveness.told_by(conf),
        replicas=replicas.configured(conf.store),
    )
    return open_beside(store, conf.store.state_url, conf.store.state_namespaces, declared)


class Opened:
    """All partitions of the configuration, over one table; their stores are closed with it."""

    def __init__(
        self, conf: cfg.ConfigOpts, opener: Opener, reads: Reads, told: Callable[[Replica], None] | None = None
    ) -> None:
        """``told`` hears of each load of a partition whose claims are served here."""
        names, served = partitions.names(conf), partitions.served(conf)
        self._stores: list[Store] = []
        table = HostTable(names, reads)
        self.partitions = Partitions(
            [self._open(conf, opener, table, name, told if name in served else None) for name in names],
            conf.rpc.partition,
        )
        self.served = [self.partitions.find(name) for name in served]

    def load(self) -> None:
        """Load what is not loaded yet; raises StoreUnavailable where no partition is after that.

        One that is away is loaded by its follower when it comes back.
        """
        away: errors.StoreUnavailable | None = None
        for each in self.partitions:
            try:
                if not each.replica.ready:
                    each.replica.load()
            except errors.StoreUnavailable as error:
                each.presence.lost()
                away = error
                if len(self.partitions) > 1:
                    LOG.warning("Partition %s is away: %s", each.name, error)
        if away is not None and not any(each.replica.ready for each in self.partitions):
            raise away

    def follow(self) -> None:
        """Begin to follow all logs."""
        for each in self.partitions:
            each.replica.start()

    def renew(self, timeout: float) -> bool:
        """Have everything taken anew, as for a table that keeps more; False where a present one did not in time."""
        present = [each.replica for each in self.partitions if not each.presence.away]
        deadline = time.monotonic() + timeout
        renewed = [each.renew(max(0.0, deadline - time.monotonic())) for each in present]
        return all(renewed)

    def stop(self) -> None:
        """Follow no more."""
        for each in self.partitions:
            each.replica.stop()

    def close(self) -> None:
        """Return when nobody follows any more and the stores are closed."""
        for each in self.partitions:
            each.replica.wait()
        for store in self._stores:
            store.close()

    def _open(
        self,
        conf: cfg.ConfigOpts,
        opener: Opener,
        table: HostTable,
        name: str,
        told: Callable[[Replica], None] | None,
    ) -> Partition:
        # The follower waits in its store for the next change, so it has one of its own.
        store, followed = opener(conf, name), opener(conf, name)
        self._stores += [store, followed]
        return Partition(store, Replica(followed, told or _nobody, table))


def _nobody(replica: Replica) -> None:
    """Be told of a load, and tell nobody."""
