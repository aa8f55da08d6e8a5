# SPDX-License-Identifier: Apache-2.0
"""What one partition holds, wherever that is."""

import abc
from collections.abc import Collection, Iterable, Mapping, MutableMapping, Sequence
from typing import Any

from scheduler_svc.store.namespaces import Versioned
from scheduler_svc.store.records import Claim, Entry, Snapshot
from scheduler_svc.store.reports import Applied
from scheduler_svc.store.verification import Look


class Holdings(abc.ABC):
    """The state, while one verb holds it alone.

    What it holds are mappings, whatever is behind them: what a verb changes in them, in a document too, is kept when
    the verb is done. Only the abstract methods look at more than the names that they are told.
    """

    by_group: bool  # a service group tells who lives, not a sign of life
    epoch: int
    position: int
    # by consumer
    claims: MutableMapping[str, Claim]
    ended: MutableMapping[str, dict[int, str]]  # -> attempt -> its end
    ended_at: MutableMapping[str, int]
    settled: MutableMapping[str, int]  # -> epoch whose store knew its newest attempt
    deadlines: MutableMapping[str, int]
    # by server group
    groups: MutableMapping[str, dict[str, int]]  # -> node -> live claims
    # by provider
    providers: MutableMapping[str, dict[str, Any]]
    capacity: MutableMapping[str, dict[str, int | list[int]]]  # see reports.capacity_of
    used: MutableMapping[str, dict[str, int]]
    changed: MutableMapping[str, int]  # -> position
    eligible: MutableMapping[str, int]  # -> position; of a service host too, which speaks for all its nodes
    excess: MutableMapping[str, dict[str, int]]  # -> class -> since when it is flagged
    # by service
    services: MutableMapping[str, dict[str, Any]]
    reports: MutableMapping[str, Applied]
    beats: MutableMapping[str, int]
    alive: MutableMapping[str, bool]
    opened: MutableMapping[str, int]  # -> epoch
    # by what is pinned
    pins: MutableMapping[str, tuple[str, int]]  # -> partition that serves it, until when

    @abc.abstractmethod
    def expect(
        self,
        *,
        consumers: Collection[str] = (),
        providers: Collection[str] = (),
        services: Collection[str] = (),
        groups: Collection[str] = (),
    ) -> None:
        """Be told what a verb is going to ask for, so that it can be fetched at once."""

    @abc.abstractmethod
    def keep(self, entry: Entry) -> None:
        """Keep a log entry, and no more than the log's length of them."""

    @abc.abstractmethod
    def entries(self, position: int, limit: int) -> list[Entry]:
        """Return log entries after ``position``."""

    @abc.abstractmethod
    def due(self, now: int, limit: int) -> list[str]:
        """Return consumers whose deadline has passed, the longest ago first."""

    @abc.abstractmethod
    def claims_on(self, host: str) -> list[Claim]:
        """Return the live claims of a service host."""

    @abc.abstractmethod
    def page_of_claims(
        self, host: str | None, consumer: str | None, marker: str | None, limit: int
    ) -> tuple[list[Claim], str | None]:
        """Return a page of live claims by "node|consumer", and the next marker; ``host`` is a host or a node."""

    @abc.abstractmethod
    def counts(self) -> Mapping[str, int]:
        """Return how many claims have a deadline that counts (prepared), and how many have none."""

    @abc.abstractmethod
    def forget_ends(self, until: int, limit: int) -> None:
        """Drop what is remembered of consumers whose last claim ended at ``until`` or before."""

    @abc.abstractmethod
    def forget_pins(self, now: int) -> None:
        """Drop pins that bind nobody any more."""

    @abc.abstractmethod
    def silent(self, since: int) -> list[str]:
        """Return services that count as alive, without a sign of life later than ``since``."""

    @abc.abstractmethod
    def is_awaited(self, host: str) -> bool:
        """Tell whether a service host may run claims which a lost tail held."""

    @abc.abstractmethod
    def awaits_any(self) -> bool:
        """Tell whether any host is awaited."""

    @abc.abstractmethod
    def await_hosts(self) -> None:
        """Await every host that was ever opened, or lives: its opening may be what was lost."""

    @abc.abstractmethod
    def await_no_more(self, host: str) -> None:
        """Take a host from those that are awaited."""

    @abc.abstractmethod
    def page_of_names(self, namespace: str, marker: str | None, limit: int) -> tuple[list[str], str | None]:
        """Return names in a namespace, in order, and the next marker."""

    @abc.abstractmethod
    def state_of(self, namespace: str, name: str) -> Versioned | None:
        """Return a declared namespace's document with its version."""

    @abc.abstractmethod
    def keep_state(self, namespace: str, name: str, held: Versioned | None) -> None:
        """Keep a declared namespace's document, or drop it."""

    @abc.abstractmethod
    def record(self, request_id: str, document: Mapping[str, Any], most: int) -> None:
        """Append a decision, and drop the oldest beyond ``most``."""

    @abc.abstractmethod
    def decision_of(self, request_id: str) -> dict[str, Any] | None:
        """Return the newest decision of a request."""

    @abc.abstractmethod
    def decisions_after(self, number: int, limit: int) -> Sequence[tuple[int, str, dict[str, Any]]]:
        """Return (number, request id, document) of decisions, oldest first."""

    @abc.abstractmethod
    def snapshot(self, namespaces: Iterable[str]) -> Snapshot:
        """Return a copy of all that replicas hold."""

    @abc.abstractmethod
    def look(self) -> Look:
        """Return a copy of all that is verified."""
