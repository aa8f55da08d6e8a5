# SPDX-License-Identifier: Apache-2.0
"""A worker's copy of all hosts: loaded from a snapshot, then kept fresh from the log."""

import threading
import time
from collections.abc import Callable

from oslo_log import log

from rpcapi import errors
from scheduler_svc import metrics
from scheduler_svc.store.interface import Store
from scheduler_svc.table.table import HostTable

LOG = log.getLogger(__name__)

BLOCK_MS = 1000  # bounds how long a stop waits for the follower
FIRST_PAUSE, LONGEST_PAUSE = 0.2, 10.0


class Replica:
    """Follows one partition in a thread of its own.

    While the store is away decisions go on being read from what is known (their claims will fail); before the first
    load ``table`` raises NotReady. ``loaded`` is called with each table that was taken anew: at start, after a gap,
    after an outage, and in a new epoch.
    """

    def __init__(self, store: Store, loaded: Callable[[HostTable], None] = lambda table: None) -> None:
        self._store = store
        self._loaded = loaded
        self._table: HostTable | None = None
        self._moved = threading.Condition()
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="replica", daemon=True)

    @property
    def table(self) -> HostTable:
        """Return the present table; raises NotReady before there is one. A new epoch brings another one."""
        if self._table is None:
            raise errors.NotReady(what="This scheduler worker", why="it has not loaded the hosts from the store yet")
        return self._table

    def load(self) -> None:
        """Take a fresh copy of everything; raises StoreUnavailable."""
        self._store.check_identity()
        table = HostTable.from_snapshot(self._store.snapshot())
        with self._moved:
            self._table = table
            self._moved.notify_all()
        metrics.SNAPSHOTS.inc()
        metrics.EPOCH.set(table.epoch)
        self._note(table, 0)
        LOG.info("Loaded %d hosts of epoch %d at position %d", table.hosts, table.epoch, table.position)
        self._loaded(table)

    def step(self, block_ms: int) -> None:
        """Take over what the log has after the table's position, waiting up to ``block_ms`` for it."""
        table = self.table
        entries = self._store.follow(table.position, block_ms)
        if entries is None:
            LOG.warning("The log no longer reaches back to position %d: loading anew", table.position)
            self.load()
            return
        if any(entry.kind == "epoch" for entry in entries):
            LOG.warning("The store began a new epoch: loading anew")
            self.load()
            return
        for entry in entries:
            table.apply(entry)
        if entries:
            with self._moved:
                self._moved.notify_all()
            self._note(table, len(entries))

    def reach(self, position: int, timeout: float) -> bool:
        """Wait until the table holds all up to ``position``; False where it does not after ``timeout`` seconds."""
        deadline = time.monotonic() + timeout
        with self._moved:
            while self._table is None or self._table.position < position:
                left = deadline - time.monotonic()
                if left <= 0:
                    return False
                self._moved.wait(left)
            return True

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
        fresh = self._table is not None
        while not self._stopping.is_set():
            try:
                if not fresh:
                    self.load()
                    fresh, pause = True, FIRST_PAUSE
                self.step(BLOCK_MS)
                continue
            except errors.Unavailable as error:
                metrics.OUTAGES.inc()
                LOG.warning("Cannot follow the store, next try in %.1f s: %s", pause, error)
            except Exception:
                # The edge of a thread: were it to end, this worker would decide on ever older hosts for good. What
                # was half applied is dropped with the table.
                LOG.exception("Following the store failed; loading anew in %.1f s", pause)
            fresh = False
            self._stopping.wait(pause)
            pause = min(2 * pause, LONGEST_PAUSE)

    @staticmethod
    def _note(table: HostTable, waiting: int) -> None:
        metrics.POSITION.set(table.position)
        metrics.LAG.set(waiting)
        metrics.HOSTS.set(table.hosts)
