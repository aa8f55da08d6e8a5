# SPDX-License-Identifier: Apache-2.0
"""Invariants of a cluster at rest: guests against claims, claims against capacity and records."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence

from devstack.lab.chaos.final_state import Allocations, FinalState, StoredClaim, StoredPartition
from devstack.lab.chaos.violations import Violation, ViolationKind
from rpcapi.resources.names import host_of
from scheduler_svc.core.records import CLAIMS, FOREIGN_CLAIMS

Sums = Counter[tuple[str, str]]
ClaimsByInstance = Mapping[str, Sequence[StoredClaim]]


def check_state(state: FinalState) -> Iterator[Violation]:
    claims = state.claims_by_instance()
    yield from _guests_without_claims(state, claims)
    yield from _several_guests(state, claims)
    yield from _several_claims(state, claims)
    yield from _leaked_claims(state)
    for partition in state.partitions:
        yield from _ended_claims(partition)
        yield from _wrong_sums(partition)
        yield from _oversold_claims(partition)
    yield from _oversold_guests(state)
    yield from _broken_groups(state)


def _describe(claim: StoredClaim) -> str:
    role = f", source of {claim.source_of}" if claim.source_of else ""
    return f"attempt {claim.attempt}, {claim.state}{role}, on {claim.host}"


def _guests_without_claims(state: FinalState, claims: ClaimsByInstance) -> Iterator[Violation]:
    for guest in state.guests:
        live = claims.get(guest.uuid, ())
        if (guest.attempt, guest.name, "confirmed") not in [(item.attempt, item.host, item.state) for item in live]:
            stored = "; ".join(map(_describe, live)) or "none"
            evidence = f"attempt {guest.attempt} runs on {guest.name}; live claims: {stored}"
            yield Violation(ViolationKind.UNCLAIMED, guest.uuid, evidence)


def _several_guests(state: FinalState, claims: ClaimsByInstance) -> Iterator[Violation]:
    """Yield instances with several guests, not counting the stopped source of a move."""
    for uuid, guests in state.guests_by_instance().items():
        sources = [(claim.attempt, claim.host) for claim in claims.get(uuid, ()) if claim.source_of]
        copies = [guest for guest in guests if guest.is_running or (guest.attempt, guest.name) not in sources]
        if len(copies) > 1:
            nodes = ", ".join(f"attempt {guest.attempt} on {guest.name}" for guest in copies)
            yield Violation(ViolationKind.DOUBLY_RUNNING, uuid, f"guest files: {nodes}")


def _several_claims(state: FinalState, claims: ClaimsByInstance) -> Iterator[Violation]:
    for consumer, live in claims.items():
        sources = sum(claim.source_of is not None for claim in live)
        if max(sources, len(live) - sources) > 1:
            stored = [
                f"partition {partition.name}: {_describe(claim)}"
                for partition in state.partitions
                for claim in partition.claims
                if claim.consumer == consumer
            ]
            yield Violation(ViolationKind.DOUBLY_CLAIMED, consumer, "; ".join(stored))


def _leaked_claims(state: FinalState) -> Iterator[Violation]:
    """Yield prepared claims past their deadline, and confirmed claims without a live attempt in a journal."""
    live_attempts = {(item.uuid, item.attempt, item.name) for item in state.attempts if item.is_live}
    for partition in state.partitions:
        for claim in partition.claims:
            deadline_ms = partition.time_ms if claim.deadline_ms is None else claim.deadline_ms
            why = ""
            if claim.state == "prepared" and deadline_ms < partition.time_ms:
                why = f"is {(partition.time_ms - deadline_ms) / 1000:.1f} s past its deadline"
            elif claim.state == "confirmed" and (claim.consumer, claim.attempt, claim.host) not in live_attempts:
                why = "but no journal has this attempt as live"
            if why:
                yield Violation(ViolationKind.LEAKED, claim.consumer, f"{_describe(claim)}, {why}")


def _ended_claims(partition: StoredPartition) -> Iterator[Violation]:
    for claim in partition.claims:
        end = partition.ended.get(claim.consumer, {}).get(claim.attempt)
        if end is not None:
            yield Violation(
                ViolationKind.ILLEGAL,
                claim.consumer,
                f"{_describe(claim)}, lives in partition {partition.name}, which records its end as {end}",
            )


def _sums(allocations: Iterable[Allocations]) -> Sums:
    sums: Sums = Counter()
    for provider_amounts in allocations:
        for provider, amounts in provider_amounts.items():
            for resource_class, amount in amounts.items():
                sums[provider, resource_class] += amount
    return sums


def _wrong_sums(partition: StoredPartition) -> Iterator[Violation]:
    computed = _sums(claim.allocations for claim in partition.claims)
    computed.update((name, CLAIMS) for claim in partition.claims for name in {claim.host, *claim.allocations})
    computed.update(
        (name, FOREIGN_CLAIMS)
        for claim in partition.claims
        for name in claim.allocations
        if host_of(name) != host_of(claim.host)
    )
    recorded = _sums([partition.used])
    for key in sorted(computed.keys() | recorded.keys()):
        if computed[key] != recorded[key]:
            yield Violation(
                ViolationKind.WRONG_SUMS,
                key[0],
                f"{key[1]}: {recorded[key]} recorded as used, {computed[key]} used by live claims",
            )


def _oversold_claims(partition: StoredPartition) -> Iterator[Violation]:
    sums = _sums(claim.allocations for claim in partition.claims)
    yield from _beyond_capacity(sums, partition.capacity, "live claims use")


def _oversold_guests(state: FinalState) -> Iterator[Violation]:
    allocations = {(item.uuid, item.attempt, item.name): item.allocations for item in state.attempts if item.is_live}
    sums = _sums(allocations.get((guest.uuid, guest.attempt, guest.name), {}) for guest in state.guests)
    yield from _beyond_capacity(sums, state.capacity, "guests use")


def _broken_groups(state: FinalState) -> Iterator[Violation]:
    """Yield affinity groups on several nodes, and anti-affinity groups with too many members on one node.

    The source of a move has left its affinity group; on its destination's node it is the same member.
    """
    groups: dict[str, list[StoredClaim]] = defaultdict(list)
    for partition in state.partitions:
        for claim in partition.claims:
            if claim.group is None or claim.state == "unverified":
                continue
            if claim.group.policy != "affinity" or claim.source_of is None:
                groups[claim.group.id].append(claim)
    for group_id, claims in groups.items():
        group = claims[0].group
        counts = Counter(host for host, _instance in {(claim.host, claim.consumer) for claim in claims})
        is_split = group is not None and group.policy == "affinity" and len(counts) > 1
        is_crowded = group is not None and group.policy == "anti-affinity" and max(counts.values()) > group.max_per_host
        if is_split or is_crowded:
            yield Violation(ViolationKind.GROUP, group_id, f"{group}: members by node {dict(counts)}")


def _beyond_capacity(sums: Sums, capacity: Allocations, what: str) -> Iterator[Violation]:
    for (provider, resource_class), amount in sorted(sums.items()):
        limit = capacity.get(provider, {}).get(resource_class)
        if limit is not None and amount > limit:
            yield Violation(ViolationKind.OVERSOLD, provider, f"{what} {amount} of {limit} {resource_class}")
