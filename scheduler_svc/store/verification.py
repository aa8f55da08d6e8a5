# SPDX-License-Identifier: Apache-2.0
"""Verification: compares all stored sums and indexes with sums and indexes computed from the claims."""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from rpcapi.resources import names
from rpcapi.resources.claims import ClaimState
from scheduler_svc.core.records import CLAIM_COUNTS, Amounts, Claim
from scheduler_svc.store import reports, tallies
from scheduler_svc.store.allocations import holder_keys, unheld_amounts
from scheduler_svc.store.records import Verification
from scheduler_svc.store.unverified import consumer_of, counted_amounts


@dataclass(frozen=True, slots=True)
class StoreDump:
    """Claims, sums and indexes of a partition, from one atomic read.

    Attributes:
        capacity: {provider: result of reports.capacity_of}.
        used: {provider: {class: sum}}.
        groups: {server group: {node: number of live claims}}.
        deadlines: {consumer: partition time in ms}.
        by_host: Index of (node, consumer).
        opened: {service host: epoch of its last audit; negative: epoch of a fence since}.
        awaited: Service hosts that may run forgotten claims.
        excess: {(provider, class): server's clock in ms at which it was flagged}.
        unverified: {consumer: number of unverified claims}.
        sources: {instance: migration of the source claim}.
        provider_names: {name: id} of API-owned providers.
        children: Index of (parent, child) of API-owned providers.
        api_providers: {id: document} of API-owned providers.
        holders: Index of "provider|claim" for providers other than the claim's node.
        tallies: {(project, user, consumer type, resource class): sum}; class '' is the number of consumers.
        tallied: Index of the keys of ``tallies``.
    """

    epoch: int
    position: int
    claims: Sequence[Claim]
    capacity: Mapping[str, Mapping[str, int | Sequence[int]]]
    used: Mapping[str, Amounts]
    groups: Mapping[str, Mapping[str, int]]
    deadlines: Mapping[str, int]
    by_host: Collection[tuple[str, str]]
    opened: Mapping[str, int]
    awaited: Collection[str]
    excess: Mapping[tuple[str, str], int]
    unverified: Mapping[str, int]
    sources: Mapping[str, str] = field(default_factory=dict)
    provider_names: Mapping[str, str] = field(default_factory=dict)
    children: Collection[tuple[str, str]] = ()
    api_providers: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    holders: Collection[str] = ()
    tallies: Mapping[tuple[str, ...], int] = field(default_factory=dict)
    tallied: Collection[tuple[str, ...]] = ()


def verify(dump: StoreDump) -> Verification:
    """Return the counts, inconsistencies and flagged excess of ``dump``."""
    sums = _sums(dump.claims)
    problems = [
        *(*_sum_problems(dump, sums), *_index_problems(dump), *_excess_problems(dump, sums)),
        *_report_problems(dump),
        *_provider_problems(dump),
        *_holder_problems(dump),
        *_tally_problems(dump),
    ]
    excess = [
        {
            "provider": provider,
            "class": resource_class,
            "used": sums[provider, resource_class],
            "capacity": _capacity(dump, provider, resource_class),
            "since_ms": since_ms,
        }
        for (provider, resource_class), since_ms in sorted(dump.excess.items())
    ]
    states = Counter(claim.state for claim in dump.claims)
    state_counts = {state.value: states[state] for state in (ClaimState.PREPARED, ClaimState.CONFIRMED)}
    if states[ClaimState.UNVERIFIED]:
        state_counts[ClaimState.UNVERIFIED.value] = states[ClaimState.UNVERIFIED]
    awaited_hosts = sorted(dump.awaited)
    return Verification(dump.epoch, dump.position, state_counts, len(dump.capacity), problems, excess, awaited_hosts)


def _sums(claims: Sequence[Claim]) -> Counter[tuple[str, str]]:
    sums: Counter[tuple[str, str]] = Counter()
    for claim in claims:
        for provider, amounts in counted_amounts(claim).items():
            for resource_class, amount in amounts.items():
                sums[provider, resource_class] += amount
    return sums


def _capacity(dump: StoreDump, provider: str, resource_class: str) -> int:
    return reports.capacity_in(dump.capacity.get(provider, {}).get(resource_class))


def _sum_problems(dump: StoreDump, sums: Mapping[tuple[str, str], int]) -> Iterator[str]:
    stored = {(provider, name): amount for provider, used in dump.used.items() for name, amount in used.items()}
    for key in sorted(stored.keys() | sums.keys()):
        if stored.get(key, 0) != sums.get(key, 0):
            yield f"{key[1]} at {key[0]}: recorded as used {stored.get(key, 0)}, used by claims {sums.get(key, 0)}"


def _index_problems(dump: StoreDump) -> Iterator[str]:
    yield from _differences(
        "index by host", {(claim.host, claim.consumer): 1 for claim in dump.claims}, dict.fromkeys(dump.by_host, 1)
    )
    group_counts: Counter[tuple[str, str]] = Counter(
        (group.id, claim.host) for claim in dump.claims if (group := claim.counted_group) is not None
    )
    recorded = {(group, host): n for group, hosts in dump.groups.items() for host, n in hosts.items()}
    yield from _differences("group count", group_counts, recorded)
    # Parked claims, on hosts that are not open, have no deadline entry.
    parked = {
        claim.consumer
        for claim in dump.claims
        if claim.consumer not in dump.deadlines and not _is_open(dump, names.host_of(claim.host))
    }
    expected = {
        claim.consumer: claim.deadline_ms
        for claim in dump.claims
        if claim.state == ClaimState.PREPARED and claim.consumer not in parked
    }
    yield from _differences("deadline", expected, dump.deadlines)
    unverified = Counter(consumer_of(claim.consumer) for claim in dump.claims if claim.state == ClaimState.UNVERIFIED)
    yield from _differences("number of unverified claims", unverified, dump.unverified)
    sources = {claim.instance: claim.consumer for claim in dump.claims if claim.instance is not None}
    yield from _differences("migration of a source", sources, dump.sources)


def _is_open(dump: StoreDump, host: str) -> bool:
    return host == names.API_HOST or dump.opened.get(host) == dump.epoch


def _provider_problems(dump: StoreDump) -> Iterator[str]:
    documents = {name: document for name, document in dump.api_providers.items() if names.is_api_provider(name)}
    expected_names = {document["name"]: name for name, document in documents.items()}
    yield from _differences("provider of the name", expected_names, dump.provider_names, "documents")
    links = {(document["parent"], name): 1 for name, document in documents.items() if document["parent"] is not None}
    recorded = {pair: 1 for pair in dump.children if names.is_api_provider(pair[1])}
    yield from _differences("child", links, recorded, "documents")


def _holder_problems(dump: StoreDump) -> Iterator[str]:
    expected = {key: 1 for claim in dump.claims for key in holder_keys(claim)}
    yield from _differences("holder", expected, dict.fromkeys(dump.holders, 1))


def _tally_problems(dump: StoreDump) -> Iterator[str]:
    expected = tallies.flat(tallies.count(dump.claims))
    yield from _differences("tally", {key: amount for key, amount in expected.items() if amount}, dump.tallies)
    yield from _differences("index of tallies", dict.fromkeys(dump.tallies, 1), dict.fromkeys(dump.tallied, 1), "sums")


def _differences(
    what: str, expected: Mapping[Any, Any], recorded: Mapping[Any, Any], source: str = "claims"
) -> Iterator[str]:
    for key in sorted(expected.keys() | recorded.keys()):
        if expected.get(key) != recorded.get(key):
            yield f"{what} of {key}: recorded {recorded.get(key)}, computed from the {source} {expected.get(key)}"


def _report_problems(dump: StoreDump) -> Iterator[str]:
    for claim in sorted(dump.claims, key=lambda claim: claim.consumer):
        for provider, amounts in unheld_amounts(claim).items():
            for resource_class, amount in amounts.items():
                claim_amount = claim.allocations.get(provider, {}).get(resource_class, 0)
                yield (
                    f"{resource_class} at {provider}: the guest of {claim.ref.consumer}@{claim.attempt} on "
                    f"{claim.host} uses {amount} by its agent's report; its claim holds {claim_amount}"
                )


def _excess_problems(dump: StoreDump, sums: Mapping[tuple[str, str], int]) -> Iterator[str]:
    over = {key for key, amount in sums.items() if amount > _capacity(dump, *key) and key[1] not in CLAIM_COUNTS}
    for provider, resource_class in sorted(over - dump.excess.keys()):
        amount, capacity = sums[provider, resource_class], _capacity(dump, provider, resource_class)
        yield f"{resource_class} at {provider}: claims use {amount} of {capacity}, not flagged as excess"
    for provider, resource_class in sorted(dump.excess.keys() - over):
        yield f"{resource_class} at {provider}: flagged as excess but within capacity"
