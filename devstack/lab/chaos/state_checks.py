# SPDX-License-Identifier: Apache-2.0
"""Invariants of a cluster at rest: guests against claims, claims against capacity and records."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping

from devstack.lab.chaos.final_state import Allocations, FinalState, GuestFile, StoredClaim, StoredPartition
from devstack.lab.chaos.violations import Violation, ViolationKind

Sums = Counter[tuple[str, str]]


def check_state(state: FinalState) -> Iterator[Violation]:
    """Yield the violations that the final state alone shows."""
    claims = _claims_by_consumer(state)
    yield from _guests_without_claims(state.guests, claims)
    yield from _several_guests(state.guests, claims)
    yield from _several_claims(claims)
    yield from _leaked_claims(state, claims)
    for partition in state.partitions:
        yield from _ended_claims(partition)
        yield from _wrong_sums(partition)
        yield from _oversold_claims(partition)
    yield from _oversold_guests(state)
    yield from _broken_groups(state)


def _claims_by_consumer(state: FinalState) -> dict[str, list[tuple[StoredPartition, StoredClaim]]]:
    claims: dict[str, list[tuple[StoredPartition, StoredClaim]]] = defaultdict(list)
    for partition in state.partitions:
        for claim in partition.claims:
            claims[claim.consumer].append((partition, claim))
    return claims


def _describe(claim: StoredClaim) -> str:
    role = f", source of {claim.source_of}" if claim.source_of else ""
    return f"attempt {claim.attempt}, {claim.state}{role}, on {claim.host}"


def _guests_without_claims(
    guests: Iterable[GuestFile], claims: Mapping[str, list[tuple[StoredPartition, StoredClaim]]]
) -> Iterator[Violation]:
    for guest in guests:
        live_claims = [claim for _, claim in claims.get(guest.uuid, ())]
        if not any(
            (claim.attempt, claim.host, claim.state) == (guest.attempt, guest.name, "confirmed")
            for claim in live_claims
        ):
            stored = "; ".join(map(_describe, live_claims)) or "none"
            yield Violation(
                ViolationKind.UNCLAIMED,
                guest.uuid,
                f"attempt {guest.attempt} runs on {guest.name}; live claims: {stored}",
            )


def _several_guests(
    guests: Iterable[GuestFile], claims: Mapping[str, list[tuple[StoredPartition, StoredClaim]]]
) -> Iterator[Violation]:
    """Yield instances with several guests; a stopped source of a move does not count."""
    by_uuid: dict[str, list[GuestFile]] = defaultdict(list)
    for guest in guests:
        sources = [(claim.attempt, claim.host) for _, claim in claims.get(guest.uuid, ()) if claim.source_of]
        if guest.is_running or (guest.attempt, guest.name) not in sources:
            by_uuid[guest.uuid].append(guest)
    for uuid, copies in by_uuid.items():
        if len(copies) > 1:
            nodes = ", ".join(f"attempt {guest.attempt} on {guest.name}" for guest in copies)
            yield Violation(ViolationKind.DOUBLY_RUNNING, uuid, f"guest files: {nodes}")


def _several_claims(claims: Mapping[str, list[tuple[StoredPartition, StoredClaim]]]) -> Iterator[Violation]:
    """Yield instances with more claims than the two ends of a move."""
    for consumer, rows in claims.items():
        sources = sum(claim.source_of is not None for _, claim in rows)
        if max(sources, len(rows) - sources) > 1:
            stored = "; ".join(f"partition {partition.name}: {_describe(claim)}" for partition, claim in rows)
            yield Violation(ViolationKind.DOUBLY_CLAIMED, consumer, stored)


def _leaked_claims(
    state: FinalState, claims: Mapping[str, list[tuple[StoredPartition, StoredClaim]]]
) -> Iterator[Violation]:
    """Yield prepared claims past their deadline, and confirmed claims without a live attempt in a journal."""
    live_attempts = {(item.uuid, item.attempt, item.name) for item in state.attempts if item.is_live}
    for consumer, rows in claims.items():
        for partition, claim in rows:
            if claim.state == "prepared":
                if claim.deadline_ms is not None and claim.deadline_ms < partition.time_ms:
                    late = (partition.time_ms - claim.deadline_ms) / 1000
                    yield Violation(
                        ViolationKind.LEAKED, consumer, f"{_describe(claim)}, is {late:.1f} s past its deadline"
                    )
            elif claim.state == "confirmed" and (consumer, claim.attempt, claim.host) not in live_attempts:
                yield Violation(
                    ViolationKind.LEAKED, consumer, f"{_describe(claim)}, but no journal has this attempt as live"
                )


def _ended_claims(partition: StoredPartition) -> Iterator[Violation]:
    """Yield live claims whose end is recorded."""
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
    """Yield providers whose existing guests need more than the capacity, whatever the store says."""
    allocations = {(item.uuid, item.attempt, item.name): item.allocations for item in state.attempts if item.is_live}
    sums = _sums(allocations.get((guest.uuid, guest.attempt, guest.name), {}) for guest in state.guests)
    capacity: dict[str, Mapping[str, int]] = {}
    for partition in state.partitions:
        capacity.update(partition.capacity)
    yield from _beyond_capacity(sums, capacity, "guests use")


def _broken_groups(state: FinalState) -> Iterator[Violation]:
    """Yield server groups with members on too many nodes, or too many on one, over all partitions."""
    groups: dict[str, list[StoredClaim]] = defaultdict(list)
    for partition in state.partitions:
        for claim in partition.claims:
            if claim.group is not None and claim.state != "unverified":
                groups[claim.group.id].append(claim)
    for group_id, members in groups.items():
        group, counts = members[0].group, Counter(claim.host for claim in members)
        is_split = group is not None and group.policy == "affinity" and len(counts) > 1
        is_crowded = group is not None and group.policy == "anti-affinity" and max(counts.values()) > group.max_per_host
        if is_split or is_crowded:
            yield Violation(ViolationKind.GROUP, group_id, f"{group}: members by node {dict(counts)}")


def _beyond_capacity(sums: Sums, capacity: Allocations, what: str) -> Iterator[Violation]:
    for (provider, resource_class), amount in sorted(sums.items()):
        limit = capacity.get(provider, {}).get(resource_class)
        if limit is not None and amount > limit:
            yield Violation(ViolationKind.OVERSOLD, provider, f"{what} {amount} of {limit} {resource_class}")
