# SPDX-License-Identifier: Apache-2.0
"""A worker's copy of a partition's hosts: loaded from a snapshot, then kept fresh from the log."""

import threading
import time
from collections.abc import Callable

from oslo_log import log

from rpcapi import errors
from scheduler_svc import metrics, reads
from scheduler_svc.following.presence import Presence
from scheduler_svc.store.interface import Store
from scheduler_svc.table.partition import Standing
from scheduler_svc.table.table import Census, HostTable

LOG = log.getLogger(__name__)

BLOCK_MS = 1000  # bounds how long a stop waits for the follower
FIRST_PAUSE, LONGEST_PAUSE = 0.2, 10.0


class Replica:
    """Follows one partition in a thread of its own, into its rows of a table that it may share with others.

    While the store is away decisions go on being read from what is known (their claims will fail); before the first
    load ``table`` raises NotReady. ``loaded`` is called each time that everything was taken anew: at start, after a
    gap, after an outage, and in a new epoch.
    """

    def __init__(
        self, store: Store, loaded: Callable[["Replica"], None] = lambda replica: None, table: HostTable | None = None
    ) -> None:
        self._store = store
        self._loaded = loaded
        self._table = HostTable([store.partition]) if table is None else table
        (self.number,) = (part.number for part in self._table.partitions if part.name == store.partition)
        self.presence = Presence()
        self._moved = threading.Condition()
        self._asked = self._served = 0  # how often everything was asked to be taken anew, and was
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name=f"replica {store.partition}", daemon=True)

    @property
    def partition(self) -> str:
        """The name of the partition."""
        return self._store.partition

    @property
    def table(self) -> HostTable:
        """Return the table; raises NotReady before this partition is in it."""
        if not self.ready:
            raise errors.NotReady(
                what="This scheduler worker",
                why=f"it has not loaded the hosts of partition {self.partition!r} from the store yet",
            )
        return self._table

    @property
    def whole(self) -> HostTable:
        """The table, whether or not this partition is in it yet."""
        return self._table

    @property
    def ready(self) -> bool:
        """Whether the partition was loaded."""
        return self.standing.epoch > 0

    @property
    def standing(self) -> Standing:
        """How far the partition's log has been read."""
        return self._table.partitions[self.number].standing

    @property
    def heard_s(self) -> float:
        """How many seconds ago the store told what is new, or that nothing is."""
        return self.presence.silent_s

    @property
    def census(self) -> Census:
        """How many hosts the partition has."""
        return self._table.census(self.number)

    def load(self) -> None:
        """Take a fresh copy of everything; raises StoreUnavailable."""
        asked = self._asked
        self._store.check_identity()
        self._table.load(self._store.snapshot(reads.kept(self._table.reads)), self.number)
        self.presence.found()
        with self._moved:
            self._served = asked
            self._moved.notify_all()
        metrics.SNAPSHOTS.labels(partition=self.partition).inc()
        self._note(0)
        epoch, position = self.standing
        LOG.info(
            "Loaded %d hosts of partition %s, epoch %d, position %d", self.census.hosts, self.partition, epoch, position
        )
        self._loaded(self)

    def step(self, block_ms: int) -> None:
        """Take over what the log has after the replica's position, waiting up to ``block_ms`` for it."""
        position = self.standing.position
        entries = self._store.follow(position, block_ms)
        self.presence.found()
        if entries is None:
            LOG.warning("The log of %s no longer reaches back to %d: loading anew", self.partition, position)
            self.load()
            return
        if any(entry.kind == "epoch" for entry in entries):
            LOG.warning("The store of partition %s began a new epoch: loading anew", self.partition)
            self.load()
            return
        for entry in entries:
            self._table.apply(entry, self.number)
        if entries:
            with self._moved:
                self._moved.notify_all()
            self._note(len(entries))

    def reach(self, position: int, timeout: float) -> bool:
        """Wait until the replica holds all up to ``position``; False where it does not after ``timeout`` seconds."""
        deadline = time.monotonic() + timeout
        with self._moved:
            while not self.ready or self.standing.position < position:
                left = deadline - time.monotonic()
                if left <= 0:
                    return False
                self._moved.wait(left)
            return True

    def renew(self, timeout: float) -> bool:
        """Have the follower take everything anew, as for a table that keeps more; False where it has not in time."""
        with self._moved:
            self._asked += 1
            asked = self._asked
            return self._moved.wait_for(lambda: self._served >= asked, timeout)

    def start(self) -> None:
        """Begin to follow."""
        self._thread.start()

    def stop(self) -> None:
        """Follow no more; the table stays as it is."""
        self._stopping.set()

    def wait(self) -> None:
        """Return when the thread has ended: at most one blocking look later."""
        if self._thread.ident is not None:
            self._thread.join()

    def _run(self) -> None:
        pause = FIRST_PAUSE
        fresh = self.ready
        while not self._stopping.is_set():
            try:
                if not fresh or self._asked > self._served:
                    self.load()
                    fresh, pause = True, FIRST_PAUSE
                self.step(BLOCK_MS)
                continue
            except errors.Unavailable as error:
                self.presence.lost()
                metrics.OUTAGES.labels(partition=self.partition).inc()
                LOG.warning("Cannot follow partition %s, next try in %.1f s: %s", self.partition, pause, error)
            except Exception:
                # The edge of a thread: were it to end, this worker would decide on ever older hosts for good. What
                # was half applied is replaced by the load.
                LOG.exception("Following partition %s failed; loading anew in %.1f s", self.partition, pause)
            fresh = False
            self._stopping.wait(pause)
            pause = min(2 * pause, LONGEST_PAUSE)

    def _note(self, waiting: int) -> None:
        epoch, position = self.standing
        metrics.EPOCH.labels(partition=self.partition).set(epoch)
        metrics.POSITION.labels(partition=self.partition).set(position)
        metrics.LAG.labels(partition=self.partition).set(waiting)
        metrics.HOSTS.labels(partition=self.partition).set(self.census.hosts)
