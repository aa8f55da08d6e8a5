# SPDX-License-Identifier: Apache-2.0
"""Steps that verbs are composed of: reads and changes of one partition's data."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, NamedTuple, TypeVar

from rpcapi.resources import names
from rpcapi.resources.claims import Answer, ClaimState
from scheduler_svc.core.records import (
    CLAIM_COUNTS,
    Claim,
    ClaimRef,
    LogEntry,
)
from scheduler_svc.store import registrations, tallies, tombstones
from scheduler_svc.store.allocations import holder_keys
from scheduler_svc.store.reports import capacity_in
from scheduler_svc.store.unverified import consumer_of, counted_amounts
from scheduler_svc.store.verbs.contents import UNNAMED_HOSTS, PartitionStorage

T = TypeVar("T")

POSITION_LEAP = 1 << 20  # positions that a new epoch skips, more than a store can lose
EXPIRE_BATCH = 1000  # most overdue claims that a verb expires first
NEVER_MS = (1 << 63) - 1  # time after all deadlines


class ExpiryCount(NamedTuple):
    """Numbers of ended claims and of due deadlines. The other due claims are parked until their hosts audit."""

    ended: int
    due: int


class PartitionState(PartitionStorage):
    """Data of a partition, with steps common to several verbs. ``now`` is always partition time in ms."""

    def __init__(self) -> None:
        self.changed_providers: set[str] = set()
        self.claimed_providers: set[str] = set()  # API-owned providers to which this verb has added claims

    def advance(self, clock_ms: int, max_step_ms: int) -> int:
        """Advance partition time by the step of the server's clock, clamped to 0...``max_step_ms``; return the time."""
        if self.time_ms is None or self.clock_ms is None:
            self.time_ms = clock_ms
        else:
            self.time_ms += max(0, min(clock_ms - self.clock_ms, max_step_ms))
        self.clock_ms = clock_ms
        return self.time_ms

    @property
    def lead_ms(self) -> int:
        """Server clock minus partition time, in ms."""
        return 0 if self.time_ms is None or self.clock_ms is None else self.clock_ms - self.time_ms

    def is_open(self, host: str) -> bool:
        """Return whether a node's service host has audited in this epoch. API-owned providers are always open."""
        service_host = names.host_of(host)
        return service_host == names.API_HOST or self.opened.get(service_host) == self.epoch

    def may_have_lost_claims_of(self, host: str) -> bool:
        """Return whether the node's service host has neither audited nor been fenced since the epoch began."""
        return not self.is_open(host) and abs(self.opened.get(names.host_of(host), 0)) != self.epoch

    def is_fenced(self, host: str) -> bool:
        """Return whether a node's service host has been fenced since its last audit, as far as the store knows."""
        return self.opened.get(names.host_of(host), 0) < 0

    def check_identity(self, host: str, host_uuid: str | None) -> None:
        """Raise HostIdentityConflict if a state folder other than ``host_uuid`` owns the host's name."""
        if host_uuid is not None:
            service = self.services.get(host)
            if registrations.is_foreign(service, host_uuid):
                raise registrations.foreign(host, registrations.TakeoverObstacle.OWNED, (service or {})["host_uuid"])

    def append(self, kind: str, payload: Any) -> int:
        self.position += 1
        self.append_entry(LogEntry(self.position, kind, payload))
        return self.position

    def generation_of(self, provider: str, *, conflicts_on_change: bool = True) -> int:
        """Return a provider's generation, which never repeats while the provider exists.

        Each increment has a log entry, so that no generation exceeds the position. A new epoch's generations begin
        beyond all positions that the store may have forgotten. Without ``conflicts_on_change``, it reads like ``peek``.
        """
        increments = (
            self.generations.get(provider, 0) if conflicts_on_change else self.peek(self.generations, provider, 0)
        )
        return self.generation_base + increments

    def peek(self, mapping: Mapping[str, T], name: str, default: T) -> T:
        """Read an entry only to report it: nothing that the verb writes may depend on it."""
        return mapping.get(name, default)

    def increase_generation(self, provider: str) -> None:
        """Increment a provider's generation. The caller must append a log entry."""
        self.generations[provider] = self.generations.get(provider, 0) + 1

    def set_generation(self, provider: str, generation: int) -> None:
        """Set a provider's generation, which must be at least ``generation_base``. Call ``reach`` first."""
        self.generations[provider] = generation - self.generation_base

    def reach(self, generation: int) -> None:
        """Raise the position beyond ``generation`` if needed, because no generation may exceed the position.

        The leap is a gap, at which replicas reload. The caller must append a log entry.
        """
        if generation > self.position:
            self.position = generation + POSITION_LEAP

    def link_children(self, linked: Mapping[str, str], unlinked: Mapping[str, str]) -> None:
        """Add and remove API-owned children, each given as {child: parent}."""
        for child, parent in unlinked.items():
            children = [name for name in self.children[parent] if name != child]
            if children:
                self.children[parent] = children
            else:
                del self.children[parent]
        for child, parent in linked.items():
            self.children[parent] = sorted([*self.children.get(parent, ()), child])

    def make_stale(self, names: Iterable[str]) -> None:
        """Make earlier decisions on these providers, or on all nodes of these service hosts, stale."""
        for name in names:
            self.eligible[name] = self.position

    def add_claim(self, claim: Claim) -> None:
        """Store a live claim, and add it to all sums and indexes."""
        self.claims[claim.consumer] = claim
        if claim.instance is not None:
            self.sources[claim.instance] = claim.consumer
        if claim.state == ClaimState.PREPARED and claim.deadline_ms is not None:
            self.deadlines[claim.consumer] = claim.deadline_ms
        self.holders.update(dict.fromkeys(holder_keys(claim), 1))
        self._count(claim, 1)
        if claim.state == ClaimState.UNVERIFIED:
            self._count_unverified(consumer_of(claim.consumer), 1)

    def end_claim(self, claim: Claim, state: str, now: int) -> None:
        """Remove a live claim from all sums and indexes, and leave a tombstone."""
        self.drop_claim(claim)
        if claim.state == ClaimState.UNVERIFIED:  # no tombstone: the attempt may run under a different claim
            return
        if claim.instance is not None:
            self._end_role_of_destination(claim)
        self.add_tombstone(claim.ref, state, now, proves_before=claim.source_attempt or claim.attempt)

    def drop_claim(self, claim: Claim) -> None:
        """Remove a live claim from all sums and indexes, without a tombstone: its attempt does not end."""
        del self.claims[claim.consumer]
        if claim.instance is not None:
            del self.sources[claim.instance]
        self.deadlines.pop(claim.consumer, None)
        for key in holder_keys(claim):
            self.holders.pop(key, None)
        self._count(claim, -1)
        if claim.state == ClaimState.UNVERIFIED:
            self._count_unverified(consumer_of(claim.consumer), -1)

    def add_tombstone(self, ref: ClaimRef, state: str, now: int, *, proves_before: int = 0) -> None:
        """Record how an attempt ended. Its end proves that attempts before ``proves_before`` have ended too."""
        self.ended.setdefault(ref.consumer, {})[ref.attempt] = tombstones.encode(ref.attempt, state, proves_before)
        self.ended_at[ref.consumer] = now

    def end_of(self, ref: ClaimRef) -> str | None:
        """Return how an attempt ended, or None.

        An attempt without a claim counts as aborted if a later attempt's tombstone proves its end.
        """
        own_end = self.own_end_of(ref)
        if own_end is not None:
            return own_end
        is_over = tombstones.proves_end_of(self.ended.get(ref.consumer, {}), ref.attempt)
        return ClaimState.ABORTED if is_over and self.claim_of(ref) is None else None

    def own_end_of(self, ref: ClaimRef) -> str | None:
        """Return the end in this attempt's own tombstone, or None."""
        text = self.ended.get(ref.consumer, {}).get(ref.attempt)
        return None if text is None else tombstones.state_of(text)

    def source_of(self, consumer: str) -> Claim | None:
        migration = self.sources.get(consumer)
        return None if migration is None else self.claims[migration]

    def claim_of(self, ref: ClaimRef) -> Claim | None:
        """Return the attempt's live claim, stored under its consumer or, for the source of a move, the migration."""
        claim = self.claims.get(ref.consumer)
        if claim is None or claim.attempt != ref.attempt:
            claim = self.source_of(ref.consumer)
        return claim if claim is not None and claim.attempt == ref.attempt else None

    def is_reported(self, live: Claim) -> bool:
        """Return whether a live claim's own host has confirmed or reported it in this epoch."""
        return live.state == ClaimState.CONFIRMED and self.is_open(live.host) and live.orphan_ms is None

    def has_room(self, provider: str, resource_class: str, amount: int) -> bool:
        used = self.used.get(provider, {}).get(resource_class, 0)
        return used + amount <= capacity_in(self.capacity.get(provider, {}).get(resource_class))

    def may_have_forgotten(self, destination: str | None = None) -> bool:
        """Return whether a forgotten attempt may run on ``destination`` ("": no host, None: any host)."""
        return self.awaits_any() if destination is None else destination != "" and self._may_run_forgotten(destination)

    def may_run(self, consumer: str) -> bool:
        """Return whether an unverified or forgotten attempt of the consumer may run."""
        return consumer in self.unverified or self.may_have_forgotten()

    def _may_run_forgotten(self, host: str) -> bool:
        return self.is_awaited(host) or (self.is_awaited(UNNAMED_HOSTS) and not self.is_open(host))

    def confirm(self, claim: Claim) -> None:
        self.deadlines.pop(claim.consumer, None)
        self.claims[claim.consumer] = replace(
            claim, state=ClaimState.CONFIRMED, deadline_ms=None, orphan_ms=None, generation=claim.generation + 1
        )

    def live_claim(self, consumer: str, now: int) -> Claim | None:
        """Return the consumer's live claim or None. An overdue claim on an open host ends first."""
        claim = self.claims.get(consumer)
        if claim is not None and self.is_expired(claim, now) and self.is_open(claim.host):
            self.end_claim(claim, ClaimState.EXPIRED, now)
            return None
        return claim

    def _end_role_of_destination(self, source: Claim) -> None:
        destination = self.claims.get(source.ref.consumer)
        if destination is not None and destination.migration == source.consumer:
            self.claims[destination.consumer] = replace(destination, migration=None, source_attempt=None)

    @staticmethod
    def is_expired(claim: Claim, now: int) -> bool:
        return claim.state == ClaimState.PREPARED and claim.deadline_ms is not None and claim.deadline_ms <= now

    def expire(self, now: int, limit: int = EXPIRE_BATCH) -> ExpiryCount:
        """End up to ``limit`` overdue claims, earliest deadline first; park claims on hosts that are not open."""
        expired = self.due_consumers(now, limit)
        self.prefetch(consumers=expired)
        ended = 0
        for consumer in expired:
            if self.live_claim(consumer, now) is None:
                ended += 1
            else:
                del self.deadlines[consumer]
        return ExpiryCount(ended, len(expired))

    def prepared_ms(self) -> int:
        """Return the age in ms of the prepared claim with the next deadline, or 0 without prepared claims."""
        created = [self.claims[consumer].created_ms for consumer in self.due_consumers(NEVER_MS, 1)]
        return max(0, (self.clock_ms or 0) - created[0]) if created else 0

    def flush(self, now: int, *, flag: bool = False) -> None:
        """Log the changed used sums, and clear excess that is over; with ``flag``, also flag new excess."""
        if not self.changed_providers:
            return
        payload = {provider: dict(self.used.get(provider, {})) for provider in sorted(self.changed_providers)}
        position = self.append("used", payload)
        for provider in sorted(self.changed_providers):
            self.changed[provider] = position
            self.update_excess(provider, now, flag=flag)
            self.drop_idle_sums(provider)
        for provider in self.claimed_providers:
            self.increase_generation(provider)
        self.changed_providers.clear()
        self.claimed_providers.clear()

    def drop_idle_sums(self, provider: str) -> None:
        """Drop the used sums of a removed provider without claims."""
        if provider not in self.providers and not any(self.used.get(provider, {}).values()):
            self.used.pop(provider, None)
            self.changed.pop(provider, None)

    def update_excess(self, provider: str, now: int, *, flag: bool) -> None:
        """Clear excess of a provider's classes that fit their capacity again; with ``flag``, flag new excess."""
        capacities = self.capacity.get(provider, {})
        over = dict(self.excess.get(provider, {}))
        for resource_class, amount in self.used.get(provider, {}).items():
            if amount <= capacity_in(capacities.get(resource_class)) or resource_class in CLAIM_COUNTS:
                over.pop(resource_class, None)
            elif flag:
                over.setdefault(resource_class, now)
        if over:
            self.excess[provider] = over
        else:
            self.excess.pop(provider, None)

    def _count_unverified(self, consumer: str, sign: int) -> None:
        number = self.unverified.get(consumer, 0) + sign
        if number > 0:
            self.unverified[consumer] = number
        else:
            self.unverified.pop(consumer, None)

    def _count(self, claim: Claim, sign: int) -> None:
        """Add a claim to used sums, tallies and group members (``sign`` 1), or subtract it (-1)."""
        tallies.add(self.tallies, claim, sign)
        for provider, amounts in counted_amounts(claim).items():
            used = self.used.setdefault(provider, {})
            for resource_class, amount in amounts.items():
                used[resource_class] = used.get(resource_class, 0) + sign * amount
            self.changed_providers.add(provider)
            if sign > 0 and names.is_api_provider(provider):
                self.claimed_providers.add(provider)
        group = claim.counted_group
        if group is not None:
            hosts = defaultdict(int, self.groups.get(group.id, {}))
            hosts[claim.host] += sign
            self.groups[group.id] = {host: count for host, count in hosts.items() if count}
            if not self.groups[group.id]:
                del self.groups[group.id]


def answer_of(state: str) -> Answer:
    return Answer(state)
