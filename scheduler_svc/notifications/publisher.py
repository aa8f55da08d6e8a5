# SPDX-License-Identifier: Apache-2.0
"""Publishing a partition's log: at least once, in order, by one worker at a time."""

import contextlib
import threading
from collections.abc import Callable, Collection, Mapping
from typing import Any

from oslo_log import log

from rpcapi import errors
from scheduler_svc import metrics
from scheduler_svc.notifications.turn import NAMESPACE, Reached, Turn
from scheduler_svc.store.interface import Store
from scheduler_svc.store.records import Entry

LOG = log.getLogger(__name__)

VERSION = "1.0"  # of the payload
RESYNC = "resync"
BATCH = 200  # changes that are published before it is noted how far that came: what may be published twice
BLOCK_MS = 1000
FIRST_PAUSE, LONGEST_PAUSE = 0.5, 10.0

Send = Callable[[str, Mapping[str, Any]], None]  # event type, payload; raises Unavailable


class Publisher:
    """Follows one partition's log in a thread of its own, with a ``store`` of its own, while it is its turn."""

    def __init__(self, store: Store, turn: Turn, send: Send, kinds: Collection[str]) -> None:
        self._store = store
        self._turn = turn
        self._send = send
        self._kinds = frozenset(kinds)
        self._reached: Reached | None = None  # None: it is not this one's turn
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name=f"notifications {store.partition}", daemon=True)

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def stop(self) -> None:
        """Publish no more."""
        self._stopping.set()

    def wait(self) -> None:
        """Return when the thread has ended."""
        if self._thread.ident is not None:
            self._thread.join()

    def step(self, block_ms: int) -> bool:
        """Publish what there is, waiting up to ``block_ms`` for it; False where it is another's turn.

        Raises StoreUnavailable, and Unavailable where it cannot be sent: what was sent before is noted.
        """
        if self._reached is None:
            self._reached = self._turn.take(self._begin)
            if self._reached is None:
                return False
            LOG.info("Publishing changes of partition %s after %d", self._store.partition, self._reached.position)
        before = self._reached
        entries = self._store.follow(before.position, block_ms, BATCH)
        sent = False
        try:
            if entries is None:
                self._resync()
                sent = True
            for entry in entries or ():
                if not self._turn.sure and not self._turn.note(self._reached):
                    return self._lost()
                sent = self._publish(entry) or sent
        finally:
            if self._reached is not None and (sent or self._turn.due) and not self._turn.note(self._reached):
                self._lost()
        return self._reached is not None

    def _begin(self) -> Reached:
        """Return where to begin; whoever listens is told to read everything first."""
        snapshot = self._store.snapshot()
        reached = Reached(snapshot.epoch, snapshot.position)
        self._notify(RESYNC, reached, {"why": "this is the beginning"})
        return reached

    def _resync(self) -> None:
        snapshot = self._store.snapshot()
        self._reached = Reached(snapshot.epoch, snapshot.position)
        self._notify(RESYNC, self._reached, {"why": "the log no longer reaches back to what was published last"})

    def _publish(self, entry: Entry) -> bool:
        """Publish one change, unless nobody wants it, and tell whether it was."""
        assert self._reached is not None  # noqa: S101 - it is this one's turn
        epoch = entry.payload if entry.kind == "epoch" else self._reached.epoch
        reached = Reached(epoch, entry.position)
        payload = _without_our_own(entry)
        wanted = entry.kind in self._kinds and payload != {}
        if entry.kind == "epoch" and wanted:
            self._notify(RESYNC, reached, {"why": "the store may have forgotten something"})
        elif wanted:
            self._notify(entry.kind, reached, payload)
        self._reached = reached
        return wanted

    def _notify(self, kind: str, at: Reached, payload: Any) -> None:
        partition = self._store.partition
        told = {"partition": partition, "epoch": at.epoch, "position": at.position, "kind": kind, "payload": payload}
        self._send(f"host_state.{kind}", {"version": VERSION, **told})
        metrics.NOTIFIED.labels(partition=partition, kind=kind).inc()

    def _lost(self) -> bool:
        LOG.warning("Another worker publishes the changes of partition %s now", self._store.partition)
        self._reached = None
        return False

    def _run(self) -> None:
        pause = FIRST_PAUSE
        while not self._stopping.is_set():
            try:
                if not self.step(BLOCK_MS):
                    self._stopping.wait(FIRST_PAUSE)
                pause = FIRST_PAUSE
                continue
            except errors.Unavailable as error:
                LOG.warning("Changes of %s wait to be published, %.1f s: %s", self._store.partition, pause, error)
            except Exception:
                # The edge of a thread: whoever follows would never hear of a change again.
                LOG.exception("Publishing the changes of %s failed; again in %.1f s", self._store.partition, pause)
            self._reached = None  # what was noted is read again
            self._stopping.wait(pause)
            pause = min(2 * pause, LONGEST_PAUSE)
        self._leave()

    def _leave(self) -> None:
        if self._reached is not None:
            with contextlib.suppress(errors.Unavailable):  # then another takes over when the lease is over
                self._turn.leave(self._reached)


def _without_our_own(entry: Entry) -> Any:
    """Return the payload less what publishing itself changes in the store."""
    if entry.kind != "state":
        return entry.payload
    return {namespace: documents for namespace, documents in entry.payload.items() if namespace != NAMESPACE}
