# SPDX-License-Identifier: Apache-2.0
"""The arithmetic of verify: every sum and index recomputed from the claims, and compared."""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rpcapi.model import names
from rpcapi.model.claims import ClaimState
from scheduler_svc.store import reports
from scheduler_svc.store.records import Amounts, Claim, Verification


@dataclass(frozen=True, slots=True)
class Look:
    """All that one atomic look at a partition saw.

    ``capacity`` is {provider: {class: see reports.capacity_of}}, ``excess`` {(provider, class): since_ms}, ``by_host``
    the (host, consumer) pairs of the index, ``deadlines`` {consumer: ms}.
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


def verify(look: Look) -> Verification:
    """Return what is wrong in ``look``: problems are broken records, excess is what was flagged as such."""
    sums = _sums(look.claims)
    problems = [*_sum_problems(look, sums), *_index_problems(look), *_excess_problems(look, sums)]
    excess = [
        {
            "provider": provider,
            "class": resource_class,
            "used": sums[provider, resource_class],
            "capacity": _capacity(look, provider, resource_class),
            "since_ms": since_ms,
        }
        for (provider, resource_class), since_ms in sorted(look.excess.items())
    ]
    states = Counter(claim.state for claim in look.claims)
    counted = {state.value: states[state] for state in (ClaimState.PREPARED, ClaimState.CONFIRMED)}
    awaited = sorted(look.awaited)
    return Verification(look.epoch, look.position, counted, len(look.capacity), problems, excess, awaited)


def _sums(claims: Sequence[Claim]) -> Counter[tuple[str, str]]:
    sums: Counter[tuple[str, str]] = Counter()
    for claim in claims:
        for provider, amounts in claim.allocations.items():
            for resource_class, amount in amounts.items():
                sums[provider, resource_class] += amount
    return sums


def _capacity(look: Look, provider: str, resource_class: str) -> int:
    return reports.capacity_in(look.capacity.get(provider, {}).get(resource_class))


def _sum_problems(look: Look, sums: Mapping[tuple[str, str], int]) -> Iterator[str]:
    stored = {(provider, name): amount for provider, used in look.used.items() for name, amount in used.items()}
    for key in sorted(stored.keys() | sums.keys()):
        if stored.get(key, 0) != sums.get(key, 0):
            yield f"{key[1]} at {key[0]}: recorded in use {stored.get(key, 0)}, claims hold {sums.get(key, 0)}"


def _index_problems(look: Look) -> Iterator[str]:
    yield from _differences(
        "index by host", {(claim.host, claim.consumer): 1 for claim in look.claims}, dict.fromkeys(look.by_host, 1)
    )
    counted: Counter[tuple[str, str]] = Counter(
        (claim.group.id, claim.host) for claim in look.claims if claim.group is not None
    )
    recorded = {(group, host): n for group, hosts in look.groups.items() for host, n in hosts.items()}
    yield from _differences("group count", counted, recorded)
    # On a host that is not open a claim past its deadline waits for the audit, out of the reaper's sight.
    parked = {
        claim.consumer
        for claim in look.claims
        if claim.consumer not in look.deadlines and look.opened.get(names.host_of(claim.host)) != look.epoch
    }
    wanted = {
        claim.consumer: claim.deadline_ms
        for claim in look.claims
        if claim.state == ClaimState.PREPARED and claim.consumer not in parked
    }
    yield from _differences("deadline", wanted, look.deadlines)


def _differences(what: str, wanted: Mapping[Any, Any], recorded: Mapping[Any, Any]) -> Iterator[str]:
    for key in sorted(wanted.keys() | recorded.keys()):
        if wanted.get(key) != recorded.get(key):
            yield f"{what} of {key}: recorded {recorded.get(key)}, by the claims {wanted.get(key)}"


def _excess_problems(look: Look, sums: Mapping[tuple[str, str], int]) -> Iterator[str]:
    over = {key for key, amount in sums.items() if amount > _capacity(look, *key)}
    for provider, resource_class in sorted(over - look.excess.keys()):
        held, capacity = sums[provider, resource_class], _capacity(look, provider, resource_class)
        yield f"{resource_class} at {provider}: claims hold {held} of {capacity}, and nothing flags it"
    for provider, resource_class in sorted(look.excess.keys() - over):
        yield f"{resource_class} at {provider}: flagged as over capacity, and is not"
