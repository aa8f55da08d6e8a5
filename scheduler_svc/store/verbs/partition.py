# SPDX-License-Identifier: Apache-2.0
"""The few steps on what a partition holds that every verb is made of."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from rpcapi.model import names
from rpcapi.model.claims import Answer, ClaimState
from scheduler_svc.store.records import Claim, Entry, Ref
from scheduler_svc.store.reports import capacity_in
from scheduler_svc.store.verbs.holdings import Holdings

POSITION_LEAP = 1 << 20  # positions that a new epoch skips: more than any log may have forgotten
UNKNOWN_END = "unknown"  # the end of a claim that never was: what was answered when it was first asked to end


class Partition(Holdings):
    """The state and its steps; ``now`` is always the store's time."""

    def __init__(self) -> None:
        self.touched: set[str] = set()  # providers whose sums this verb changed

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

    def make_stale(self, touched: Iterable[str]) -> None:
        """Have what was decided before on these providers, or on any node of these service hosts, decided anew."""
        for name in touched:
            self.eligible[name] = self.position

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
