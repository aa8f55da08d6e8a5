# SPDX-License-Identifier: Apache-2.0
"""What one partition holds, and the few steps that every verb is made of."""

import abc
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, MutableMapping, Sequence
from dataclasses import replace
from typing import Any

from rpcapi.model import names
from rpcapi.model.claims import Answer, ClaimState
from scheduler_svc.store.namespaces import Versioned
from scheduler_svc.store.records import Claim, Entry, Ref, Snapshot
from scheduler_svc.store.reports import Applied, capacity_in
from scheduler_svc.store.verification import Look

POSITION_LEAP = 1 << 20  # positions that a new epoch skips: more than any log may have forgotten
UNKNOWN_END = "unknown"  # the end of a claim that never was: what was answered when it was first asked to end


class Partition(abc.ABC):
    """The state, while one verb holds it alone; ``now`` is always the store's time.

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
    eligible: MutableMapping[str, int]  # -> position
    excess: MutableMapping[str, dict[str, int]]  # -> class -> since when it is flagged
    # by service
    services: MutableMapping[str, dict[str, Any]]
    reports: MutableMapping[str, Applied]
    beats: MutableMapping[str, int]
    alive: MutableMapping[str, bool]
    opened: MutableMapping[str, int]  # -> epoch
    # by what is pinned
    pins: MutableMapping[str, tuple[str, int]]  # -> partition that serves it, until when

    def __init__(self) -> None:
        self.touched: set[str] = set()  # providers whose sums this verb changed

    # -- what lies behind it ---------------------------------------------------------------------------------------

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

    # -- the steps -------------------------------------------------------------------------------------------------

    def is_open(self, host: str) -> bool:
        """Tell whether the service host of ``host`` has been audited in this epoch."""
        return self.opened.get(names.host_of(host)) == self.epoch

    def append(self, kind: str, payload: Any) -> int:
        """Write a log entry and return its position."""
        self.position += 1
        self.keep(Entry(self.position, kind, payload))
        return self.position

    def bump(self, now: int) -> None:
        """Begin a new epoch: no host is open in it, and no position of a forgotten tail is used twice."""
        self.epoch = max(self.epoch + 1, now)
        self.await_hosts()
        if self.position:
            self.position += POSITION_LEAP
        self.append("epoch", self.epoch)

    def hold(self, claim: Claim) -> None:
        """Add a live claim to every sum and index."""
        self.claims[claim.consumer] = claim
        if claim.state == ClaimState.PREPARED and claim.deadline_ms is not None:
            self.deadlines[claim.consumer] = claim.deadline_ms
        self._count(claim, 1)

    def end(self, claim: Claim, state: str, now: int) -> None:
        """Take a live claim out of every sum and index, and remember its end."""
        if self.is_newest(claim):
            self.settled[claim.consumer] = self.epoch
        del self.claims[claim.consumer]
        self.deadlines.pop(claim.consumer, None)
        self._count(claim, -1)
        self.bury(Ref(claim.consumer, claim.attempt), state, now)

    def bury(self, ref: Ref, state: str, now: int) -> None:
        """Leave a tombstone."""
        self.ended.setdefault(ref.consumer, {})[ref.attempt] = state
        self.ended_at[ref.consumer] = now

    def end_of(self, ref: Ref) -> str | None:
        """Return how an attempt ended; an attempt older than an ended one has ended too."""
        ends = self.ended.get(ref.consumer, {})
        if ref.attempt in ends:
            return ends[ref.attempt]
        return ClaimState.ABORTED if ends and ref.attempt < max(ends) else None

    def is_newest(self, claim: Claim) -> bool:
        """Tell whether no later attempt than this live one can have been forgotten.

        Its host stands by it in this epoch, and a next attempt is made only when the former has ended.
        """
        return self.is_open(claim.host) and claim.orphan_ms is None

    def may_have_forgotten(self, consumer: str) -> bool:
        """Tell whether an attempt of the consumer that is unknown may run on a host that has not audited yet."""
        live = self.claims.get(consumer)
        known = self.settled.get(consumer) == self.epoch or (live is not None and self.is_newest(live))
        return not known and self.awaits_any()

    def confirm(self, claim: Claim) -> None:
        """Turn a prepared claim into a confirmed one."""
        self.deadlines.pop(claim.consumer, None)
        self.claims[claim.consumer] = replace(
            claim, state=ClaimState.CONFIRMED, deadline_ms=None, orphan_ms=None, generation=claim.generation + 1
        )

    def settle(self, consumer: str, now: int) -> Claim | None:
        """Return the consumer's live claim; one past its deadline on an open host ends here."""
        claim = self.claims.get(consumer)
        if claim is not None and self.is_past(claim, now) and self.is_open(claim.host):
            self.end(claim, ClaimState.EXPIRED, now)
            return None
        return claim

    @staticmethod
    def is_past(claim: Claim, now: int) -> bool:
        """Tell whether a claim is prepared and its deadline has passed."""
        return claim.state == ClaimState.PREPARED and claim.deadline_ms is not None and claim.deadline_ms <= now

    def expire(self, now: int, limit: int) -> int:
        """End claims past their deadline, oldest first; park those whose host must audit first."""
        due = self.due(now, limit)
        self.expect(consumers=due)
        ended = 0
        for consumer in due:
            if self.settle(consumer, now) is None:
                ended += 1
            else:
                del self.deadlines[consumer]
        return ended

    def flush(self, now: int, *, flag: bool = False) -> None:
        """Log the sums that this verb changed; clear what is no longer in excess, and ``flag`` what now is."""
        if not self.touched:
            return
        payload = {provider: dict(self.used.get(provider, {})) for provider in sorted(self.touched)}
        position = self.append("used", payload)
        for provider in sorted(self.touched):
            self.changed[provider] = position
            self.weigh(provider, now, flag=flag)
            self.forget_idle(provider)
        self.touched.clear()

    def forget_idle(self, provider: str) -> None:
        """Drop the sums of a provider that is gone and holds nothing any more."""
        if provider not in self.providers and not any(self.used.get(provider, {}).values()):
            self.used.pop(provider, None)
            self.changed.pop(provider, None)

    def weigh(self, provider: str, now: int, *, flag: bool) -> None:
        """Compare a provider's sums with its capacity, class by class."""
        held = self.capacity.get(provider, {})
        over = dict(self.excess.get(provider, {}))
        for resource_class, amount in self.used.get(provider, {}).items():
            if amount <= capacity_in(held.get(resource_class)):
                over.pop(resource_class, None)
            elif flag:
                over.setdefault(resource_class, now)
        if over:
            self.excess[provider] = over
        else:
            self.excess.pop(provider, None)

    def _count(self, claim: Claim, sign: int) -> None:
        for provider, amounts in claim.allocations.items():
            used = self.used.setdefault(provider, {})
            for resource_class, amount in amounts.items():
                used[resource_class] = used.get(resource_class, 0) + sign * amount
            self.touched.add(provider)
        if claim.group is not None:
            hosts = defaultdict(int, self.groups.get(claim.group.id, {}))
            hosts[claim.host] += sign
            self.groups[claim.group.id] = {host: count for host, count in hosts.items() if count}
            if not self.groups[claim.group.id]:
                del self.groups[claim.group.id]


def answer_of(state: str) -> Answer:
    """Return the answer that tells a claim's state, or its end."""
    return Answer(state)
