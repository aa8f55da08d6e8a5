# SPDX-License-Identifier: Apache-2.0
"""Replica of a partition's hosts: loaded from a snapshot, then updated from the log."""

import math
import threading
import time
from collections.abc import Callable, Collection, Sequence

from oslo_log import log

from rpcapi import errors
from rpcapi.background import BackgroundLoop
from scheduler_svc import metrics
from scheduler_svc.core import reads
from scheduler_svc.core.records import LogEntry
from scheduler_svc.core.table.partition import LogPosition
from scheduler_svc.core.table.table import HostCounts, HostTable
from scheduler_svc.replication.operator_writes import OperatorWrites
from scheduler_svc.replication.presence import Presence
from scheduler_svc.store import paging
from scheduler_svc.store.interface import Store
from scheduler_svc.store.log import CARRIED_ENTRIES
from scheduler_svc.store.namespaces import SERVER_GROUP

LOG = log.getLogger(__name__)

NAMES_PER_CALL = 1000  # hosts per script call
BLOCK_MS = 1000  # longest wait of stop() for the follower
RESTING_PAUSE = 0.01  # seconds between reads while the log has only this worker's claims, or with ``for_api``
CARRIED_PAUSE = 0.05  # seconds between reads while claim answers carry the log
FIRST_PAUSE, LONGEST_PAUSE = 0.2, 10.0  # seconds before retries


class Replica(BackgroundLoop):
    """In-memory copy of one partition. Its thread loads a snapshot, then follows the log.

    During a store outage decisions use the last known state, and their claims fail. ``on_loaded`` is called after each
    full load: at start, after a log gap, an outage, a new epoch, or a mass departure of names.
    """

    def __init__(
        self,
        store: Store,
        on_loaded: Callable[["Replica"], None] | None = None,
        table: HostTable | None = None,
        *,
        for_api: bool = False,
    ) -> None:
        """``for_api``: gantt-placement calls ``reach`` before each read, and may not write host state."""
        super().__init__(f"replica {store.partition}")
        self._store = store
        self._on_loaded = on_loaded
        self._table = HostTable([store.partition]) if table is None else table
        (self.number,) = (part.number for part in self._table.partitions if part.name == store.partition)
        self.presence = Presence()
        self._last_report = -math.inf
        self._operator_writes = OperatorWrites()
        self._last_loss = -math.inf  # time at which this worker had repeated lost writes
        self._moved = threading.Condition()
        self._waiting_calls = 0  # waiting in ``reach``
        self._applying = threading.RLock()
        self._is_carried = False  # Claim answers carried all entries since the follower's last pass.
        self._reloads_requested = self._reloads_done = 0
        self._is_loaded = False
        self.has_named_its_own = False  # The last load first named the hosts of the replaced table.
        # Hosts that this worker named, neither audited nor fenced since: named again if the store loses data again.
        self.absent_hosts: set[str] = set()
        self.collects_names = False  # The store collected names of forgotten hosts at the last load.
        self._pause = FIRST_PAUSE  # seconds to wait after the next failure
        self._for_api = for_api

    @property
    def partition(self) -> str:
        return self._store.partition

    @property
    def table(self) -> HostTable:
        """The host table. Raises NotReady until this partition is loaded."""
        if not self.ready:
            raise errors.NotReady(
                what="This scheduler worker",
                why=f"it has not yet loaded the hosts of partition {self.partition!r} from the store",
            )
        return self._table

    @property
    def unchecked_table(self) -> HostTable:
        return self._table

    @property
    def ready(self) -> bool:
        return self.log_position.epoch > 0

    @property
    def log_position(self) -> LogPosition:
        return self._table.partitions[self.number].log_position

    @property
    def last_contact_s(self) -> float:
        return self.presence.silent_s

    def may_lack(self, epoch: int, seconds: float) -> bool:
        """Return whether another worker may still repeat documents that the store lost when it began ``epoch``."""
        return self.log_position.epoch != epoch or time.monotonic() - self._last_loss < seconds

    def record_report(self) -> None:
        self._last_report = time.monotonic()

    def reports_silent_s(self) -> float:
        """Return the seconds since a host reported to this worker; infinite before the first report."""
        return time.monotonic() - self._last_report

    @property
    def host_counts(self) -> HostCounts:
        return self._table.host_counts(self.number)

    def load(self) -> None:
        """Load a full snapshot. Raises StoreUnavailable."""
        with self._applying:
            self._load()

    def _load(self) -> None:
        request_number = self._reloads_requested
        epoch, _began = self._store.check_identity()
        # Repeat writes and name hosts before the table is replaced, because the store may have forgotten them.
        if self.ready and epoch != self.log_position.epoch and not self._for_api:
            self._operator_writes.repeat_forgotten(self._store, self.log_position.position)
            self._last_loss = time.monotonic()
        self.has_named_its_own = self.ready
        audited_hosts = self._table.audited_hosts(self.number)
        self.collects_names = self.name_hosts(epoch, sorted({*audited_hosts, *self.absent_hosts}), complete=False)
        snapshot = self._store.snapshot([*reads.whole_document_namespaces(self._table.reads), SERVER_GROUP])
        if self.collects_names:
            self.absent_hosts.update(audited_hosts)
        self.absent_hosts -= snapshot.opened.keys()
        self._table.load(snapshot, self.number)
        self._operator_writes.load(snapshot)
        self.presence.record_answer()
        with self._moved:
            self._reloads_done = request_number
            self._moved.notify_all()
        metrics.SNAPSHOTS.labels(partition=self.partition).inc()
        self._update_metrics(0)
        epoch, position = self.log_position
        LOG.info(
            "Loaded %d hosts of partition %s, epoch %d, position %d",
            self.host_counts.hosts,
            self.partition,
            epoch,
            position,
        )
        if self._on_loaded is not None:
            self._on_loaded(self)
        self._is_loaded = True

    def name_hosts(self, epoch: int, hosts: Sequence[str], *, complete: bool) -> bool:
        batches = list(paging.batches(hosts, NAMES_PER_CALL)) or [()]
        collects = False
        for number, batch in enumerate(batches, 1):
            collects = self._store.name_hosts(epoch, batch, complete=complete and number == len(batches))
        return collects

    def step(self, block_ms: int) -> bool:
        """Wait up to ``block_ms`` for entries and apply them. Return whether all are this worker's claims."""
        position = self.log_position.position
        entries = self._store.follow(position, block_ms)
        self.presence.record_answer()
        if entries is None:
            LOG.warning("The log of %s was trimmed past %d: loading a snapshot", self.partition, position)
            self.load()
            return False
        if any(entry.kind == "epoch" for entry in entries):
            LOG.warning("The store of partition %s began a new epoch: loading a snapshot", self.partition)
            self.load()
            return False
        own = self._apply(entries)
        if entries:
            self._update_metrics(len(entries))
        self._compact()
        # The last entry may have overtaken the answer to its claim.
        return own > 0 and own >= len(entries) - 1

    def apply_carried(self, entries: Sequence[LogEntry], epochs: Collection[int]) -> None:
        """Apply entries that came with claim answers of these epochs. Leave gaps and failures to the follower."""
        if not self._applying.acquire(blocking=False):
            return  # the follower is applying entries
        try:
            is_whole = len(entries) < CARRIED_ENTRIES and all(entry.kind != "epoch" for entry in entries)
            is_carried = self._is_loaded and is_whole and set(epochs) == {self.log_position.epoch}
            if is_carried:
                self._apply(entries)
                self.presence.record_answer()
        except Exception:  # the claims are valid in any case
            LOG.exception("Cannot apply the log entries of partition %s from claim answers", self.partition)
            is_carried = False
        finally:
            self._applying.release()
        self._is_carried = is_carried
        if not is_carried and self._is_loaded:
            self.wake()

    def _compact(self) -> None:
        part = self._table.partitions[self.number]
        if part.needs_compaction:
            LOG.info("%d names left partition %s: loading a snapshot to free them", part.departures, part.name)
            self.load()

    def _apply(self, entries: Sequence[LogEntry]) -> int:
        """Apply entries of the current epoch. Return how many of them claim answers had brought before."""
        own = 0
        with self._applying:
            for entry in entries:
                own += self._table.apply(entry, self.number)
                self._operator_writes.apply(entry)
                if entry.kind == "opened":
                    self.absent_hosts -= entry.payload.keys()
        if entries:
            with self._moved:
                self._moved.notify_all()
        return own

    def reach(self, position: int, timeout: float) -> bool:
        """Wait until ``position`` is applied. Return False after ``timeout`` seconds."""
        deadline = time.monotonic() + timeout
        with self._moved:
            self._waiting_calls += 1
            try:
                while not self.ready or self.log_position.position < position:
                    remaining_s = deadline - time.monotonic()
                    if remaining_s <= 0:
                        return False
                    if self._is_loaded:  # do not shorten the pause after a failure
                        self.wake()
                    self._moved.wait(remaining_s)
            finally:
                self._waiting_calls -= 1
            return True

    def reload(self, timeout: float) -> bool:
        """Have the follower load a snapshot, for example after new reads. Return False on timeout."""
        with self._moved:
            self._reloads_requested += 1
            request_number = self._reloads_requested
            return self._moved.wait_for(lambda: self._reloads_done >= request_number, timeout)

    def run_once(self) -> float:
        if not self._is_loaded or self._reloads_requested > self._reloads_done:
            self.load()
            self._pause = FIRST_PAUSE
        is_carried, self._is_carried = self._is_carried, False
        if is_carried and not self._waiting_calls:
            self._update_metrics(0)
            self._compact()
            return CARRIED_PAUSE
        brought_own_claims = self.step(BLOCK_MS)
        return RESTING_PAUSE if brought_own_claims or self._for_api else 0.0

    def handle_failure(self, error: Exception) -> float:
        """Log the failure and request a full load, because half-applied entries would leave hosts stale."""
        self._is_loaded = False
        pause, self._pause = self._pause, min(2 * self._pause, LONGEST_PAUSE)
        if isinstance(error, errors.Unavailable):
            self.presence.record_failure()
            metrics.OUTAGES.labels(partition=self.partition).inc()
            LOG.warning("Cannot follow partition %s, retrying in %.1f s: %s", self.partition, pause, error)
        else:
            LOG.exception("Following partition %s failed; loading a snapshot in %.1f s", self.partition, pause)
        return pause

    def close(self) -> None:
        """Wait until the thread has ended, then close the store."""
        self.wait()
        self._store.close()

    def _update_metrics(self, lag: int) -> None:
        epoch, position = self.log_position
        metrics.EPOCH.labels(partition=self.partition).set(epoch)
        metrics.POSITION.labels(partition=self.partition).set(position)
        metrics.LAG.labels(partition=self.partition).set(lag)
