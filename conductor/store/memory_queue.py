# SPDX-License-Identifier: Apache-2.0
"""Queue of due work of the in-memory store: due times, leases, turns of projects."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from conductor.store.records import project_of


class QueueEntry(NamedTuple):
    at: int
    request: str
    is_new: bool

    @property
    def project(self) -> str:
        return project_of(self.request)


@dataclass(slots=True)
class MemoryQueue:
    """Queue of the in-memory store, called under its lock.

    Attributes:
        due: {request: due time} of requests that have begun.
        new: {request: due time} of requests with new instances.
        leases: {request: token}.
        woken: Requests woken while leased.
        turns: {project: number of its next turn}.
        served: Number of the current turn.
    """

    due: dict[str, int] = field(default_factory=dict)
    new: dict[str, int] = field(default_factory=dict)
    leases: dict[str, str] = field(default_factory=dict)
    woken: set[str] = field(default_factory=set)
    turns: dict[str, int] = field(default_factory=dict)
    served: int = 0

    def entries(self, now: int, may_begin: Callable[[str], bool]) -> Iterator[QueueEntry]:
        """Yield due entries in order of turns; new requests only of projects that ``may_begin``.

        Call ``serve`` for each entry before the next, since it changes the turns.
        """
        entries = [QueueEntry(at, request, False) for request, at in self.due.items() if at <= now]
        entries += [QueueEntry(at, request, True) for request, at in self.new.items()]
        if not entries:
            self.turns.clear()
        entries.sort()
        while entries:
            entry = min(entries, key=lambda entry: (self.turn(entry.project), entry.is_new))
            if not entry.is_new or may_begin(entry.project):
                entries.remove(entry)
                yield entry
            else:
                entries = [other for other in entries if not other.is_new or other.project != entry.project]

    def serve(self, project: str) -> None:
        self.served = self.turn(project)
        self.turns[project] = self.served + 1

    def charge(self, project: str, records: int) -> None:
        """Charge the project for records written together, except the first, which the turn has paid."""
        self.turns[project] = self.turn(project) + max(0, records - 1)

    def turn(self, project: str) -> int:
        return max(self.turns.get(project, 0), self.served)

    def lease(self, request: str, token: str, until: int) -> None:
        self.leases[request] = token
        self.due[request] = until
        self.woken.discard(request)

    def wake(self, request: str, now: int) -> None:
        """Make the request due now, or when its lease is released."""
        if request in self.leases:
            self.woken.add(request)
        else:
            self.due[request] = min(self.due.get(request, now), now)

    def release(self, request: str, next_ms: int | None, now: int) -> None:
        """End the lease; the request is due at ``next_ms`` (None: never), or now if it was woken."""
        del self.leases[request]
        if request in self.woken:
            self.woken.discard(request)
            self.due[request] = now
        elif next_ms is None:
            self.due.pop(request, None)
        else:
            self.due[request] = next_ms

    def remove(self, request: str) -> None:
        for collection in (self.due, self.new, self.leases):
            collection.pop(request, None)
        self.woken.discard(request)

    def next_due(self) -> int | None:
        return min([*self.due.values(), *self.new.values()], default=None)
