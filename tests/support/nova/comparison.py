# SPDX-License-Identifier: Apache-2.0
"""Comparisons after a test: Placement's usages, gantt's claims, and the hypervisors' guests."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from devstack.nova.client import CloudPlacementClient
from devstack.nova.records import EVACUATED, HOLDING, rows
from rpcapi.resources import names
from rpcapi.resources.claims import ClaimState
from scheduler_svc.core.records import Claim
from scheduler_svc.store import paging
from scheduler_svc.store.protocols.claims import ClaimQueries

ProviderAllocations = dict[str, dict[str, dict[str, int]]]  # {provider: {consumer: {resource class: amount}}}

# In other states an instance may lack a guest: its build or move failed or has not ended.
WITH_GUEST = ("active", "paused", "resized", "stopped", "suspended")

GUESTS = "SELECT uuid, host, vm_state, task_state FROM instances WHERE deleted = 0 AND NOT hidden AND host IS NOT NULL"
MOVES = """
SELECT instance_uuid, source_compute, dest_compute, status, migration_type FROM migrations
WHERE deleted = 0 AND instance_uuid IN (SELECT uuid FROM instances WHERE deleted = 0)
"""


@dataclass(frozen=True)
class Guests:
    """Hosts where each server must have a guest, and hosts where it may have one."""

    required: Mapping[str, frozenset[str]]
    allowed: Mapping[str, frozenset[str]]


def guests(*databases: str) -> Guests:
    """Return the hosts of each server's guests, according to the cells' databases (URLs).

    A move's source keeps its guest until the move is confirmed, an evacuation's source until it returns.
    """
    instances, moves = ([row for database in databases for row in rows(database, query)] for query in (GUESTS, MOVES))
    required = {uuid: frozenset([host]) for uuid, host, state, task in instances if state in WITH_GUEST and not task}
    allowed = {uuid: frozenset([host]) for uuid, host, _, _ in instances}
    for uuid, source, destination, status, kind in moves:
        if kind == "evacuation":
            hosts = {source} if status == EVACUATED else set()
        else:
            hosts = {source, destination} if status in HOLDING else set()
        allowed[uuid] = allowed.get(uuid, frozenset()) | hosts
    return Guests(required, allowed)


def provider_allocations(placement: CloudPlacementClient) -> ProviderAllocations:
    return {provider["uuid"]: placement.consumers(provider["uuid"]) for provider in placement.providers()}


def usage_differences(placement: CloudPlacementClient, allocations: ProviderAllocations) -> list[str]:
    """Return one sentence per provider whose usages are not the sum of its allocations."""
    return [
        f"{provider} has the usages {_positive(usages)}, but its allocations are {_positive(sums)} in sum"
        for provider, consumers in allocations.items()
        if _positive(usages := placement.usages(provider)) != _positive(sums := _sum(consumers))
    ]


def claim_differences(store: ClaimQueries, allocations: ProviderAllocations) -> list[str]:
    """Return one sentence per consumer whose claim differs from its allocations, and per problem of ``verify``."""
    by_api = _by_consumer(allocations)
    claims = {claim.consumer: claim for claim in paging.entries(lambda marker: store.claims(marker=marker))}
    verification = store.verify()
    return [
        *(
            f"{consumer} holds {by_api.get(consumer)}, but its claim is {claims.get(consumer)}"
            for consumer in sorted({*by_api, *claims})
            if by_api.get(consumer) != _confirmed(claims.get(consumer))
        ),
        *verification.problems,
        *(f"more than the capacity is claimed: {excess}" for excess in verification.excess),
    ]


def guest_differences(guests: Mapping[str, Sequence[str]], recorded: Guests, hosts: Sequence[str]) -> list[str]:
    """Return one sentence per server with missing or unexpected guests on ``hosts``."""
    sentences = []
    for server in sorted({*guests, *recorded.required, *recorded.allowed}):
        present = {*guests.get(server, ())} & {*hosts}
        required = recorded.required.get(server, frozenset()) & {*hosts}
        allowed = required | recorded.allowed.get(server, frozenset())
        if not required <= present <= allowed:
            sentences.append(
                f"{server} has guests on {sorted(present)}, but by Nova's records on {sorted(required)}"
                f" and at most on {sorted(allowed)}"
            )
    return sentences


def _confirmed(claim: Claim | None) -> dict[str, dict[str, int]] | None:
    if claim is None or claim.state != ClaimState.CONFIRMED:
        return None
    prefix = names.api_provider("")
    return {provider.removeprefix(prefix): dict(amounts) for provider, amounts in claim.allocations.items()}


def _by_consumer(allocations: ProviderAllocations) -> ProviderAllocations:
    consumers: ProviderAllocations = {}
    for provider, holders in allocations.items():
        for consumer, amounts in holders.items():
            consumers.setdefault(consumer, {})[provider] = amounts
    return consumers


def _sum(consumers: Mapping[str, Mapping[str, int]]) -> Counter[str]:
    return sum((Counter(amounts) for amounts in consumers.values()), Counter())


def _positive(amounts: Mapping[str, int]) -> dict[str, int]:
    return {name: amounts[name] for name in sorted(amounts) if amounts[name]}
