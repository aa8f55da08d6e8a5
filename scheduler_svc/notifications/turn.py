# SPDX-License-Identifier: Apache-2.0
"""Whose turn it is to publish, and how far the last one came: a document of the store, changed by compare-and-set."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from rpcapi import errors
from scheduler_svc.store.interface import Store

NAMESPACE = "gantt.notifications"  # of the store alone: no Registry has it, so nobody reads or writes it over the bus
NAME = "publisher"
NOBODY = ""  # as the owner: whose turn it was has left


@dataclass(frozen=True, slots=True)
class Reached:
    """Everything up to ``position`` was published, in ``epoch``."""

    epoch: int
    position: int


class Turn:
    """One candidate for publishing. A lease is over when its document stood still so long: no clocks are compared."""

    def __init__(self, store: Store, owner: str, lease: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._store = store
        self._owner = owner
        self._lease = lease
        self._clock = clock
        self._version = 0
        self._seen = clock()  # since when the document is at that version
        self._mine = False

    @property
    def sure(self) -> bool:
        """Whether nobody else can have taken over."""
        return self._mine and self._clock() - self._seen < self._lease / 2

    @property
    def due(self) -> bool:
        """Whether a sign of life is due, even where nothing was published."""
        return self._clock() - self._seen >= self._lease / 4

    def take(self, start: Callable[[], Reached]) -> Reached | None:
        """Return how far the last one came where it is this one's turn now, else None; raises StoreUnavailable.

        ``start`` tells where to begin where nobody ever published.
        """
        self._mine = False
        try:
            version, held = self._store.get_state(NAMESPACE, NAME)
        except errors.UnknownHost:
            version, held = 0, {}
        if version != self._version:
            self._version, self._seen = version, self._clock()
        standing = self._clock() - self._seen >= self._lease
        if version and held["owner"] not in (self._owner, NOBODY) and not standing:
            return None
        reached = Reached(held["epoch"], held["position"]) if version else start()
        return reached if self.note(reached) else None

    def note(self, reached: Reached) -> bool:
        """Record how far this one came, which keeps its turn; False where it was another's by then."""
        return self._put(self._owner, reached)

    def leave(self, reached: Reached) -> None:
        """Record how far this one came, and let another go on at once."""
        self._put(NOBODY, reached)
        self._mine = False

    def _put(self, owner: str, reached: Reached) -> bool:
        document: dict[str, Any] = {
            "owner": owner,
            "epoch": reached.epoch,
            "position": reached.position,
            "beat": self._version,  # so that each is a change
        }
        try:
            self._version = self._store.put_state(NAMESPACE, NAME, self._version, document)
        except errors.VersionConflict:
            self._mine = False
            return False
        self._seen, self._mine = self._clock(), True
        return True
