# SPDX-License-Identifier: Apache-2.0
"""Tallies: usage sums by project, user and consumer type, updated with every claim."""

import functools
import hashlib
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, MutableMapping
from typing import Any

from rpcapi.resources.claims import ClaimState
from scheduler_svc.core.records import Claim
from scheduler_svc.store import documents
from scheduler_svc.store.allocations import Usage

NUMBER = ""  # pseudo resource class whose sum is the number of consumers
KEY_LENGTH = 32  # hex digits of a tally's key

# {"owner": [project, user, consumer type], "amounts": {resource class or NUMBER: sum}}, without zero sums.
Tally = dict[str, Any]
Sums = Mapping[tuple[str, ...], int]  # {(project, user, consumer type, resource class or NUMBER): sum}


def key_of(claim: Claim) -> str:
    return key_of_owner(claim.project, claim.user, claim.type)


@functools.lru_cache(maxsize=1 << 14)
def key_of_owner(project: str, user: str, consumer_type: str) -> str:
    """Return the key of an owner's tally. Hashed, because databases limit the size of index entries."""
    return hashlib.sha256(documents.encode([project, user, consumer_type]).encode()).hexdigest()[:KEY_LENGTH]


def add(tallies: MutableMapping[str, Tally], claim: Claim, sign: int) -> None:
    """Add a claim to the tallies (``sign`` 1), or subtract it (-1). Unverified claims do not count."""
    if claim.state == ClaimState.UNVERIFIED:
        return
    key = key_of(claim)
    amounts: Counter[str] = Counter(tallies[key]["amounts"] if key in tallies else {})
    for resource_class, amount in _amounts(claim):
        amounts[resource_class] += sign * amount
    remaining = {name: amount for name, amount in amounts.items() if amount}
    if remaining:
        tallies[key] = {"owner": [claim.project, claim.user, claim.type], "amounts": remaining}
    else:
        tallies.pop(key, None)


def count(claims: Iterable[Claim]) -> dict[str, Tally]:
    sums: defaultdict[tuple[str, str, str], Counter[str]] = defaultdict(Counter)
    for claim in claims:
        if claim.state != ClaimState.UNVERIFIED:
            amounts = sums[claim.project, claim.user, claim.type]
            for resource_class, amount in _amounts(claim):
                amounts[resource_class] += amount
    return {key_of_owner(*owner): {"owner": list(owner), "amounts": dict(amounts)} for owner, amounts in sums.items()}


def flat(tallies: Mapping[str, Tally]) -> Sums:
    return {(*tally["owner"], name): amount for tally in tallies.values() for name, amount in tally["amounts"].items()}


def usages(rows: Iterable[tuple[str, str, int]], consumer_type: str | None) -> dict[str, Usage]:
    """Return {consumer type: usage}, optionally of one type, from rows (consumer type, class or NUMBER, sum)."""
    consumers: Counter[str] = Counter()
    sums: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for type_name, resource_class, amount in rows:
        if consumer_type not in (None, type_name):
            continue
        if resource_class == NUMBER:
            consumers[type_name] += amount
        else:
            sums[type_name][resource_class] += amount
    return {name: Usage(number, dict(sums[name])) for name, number in consumers.items()}


def rows_of(tallies: Iterable[Tally], user: str | None) -> Iterator[tuple[str, str, int]]:
    """Yield rows (consumer type, class or NUMBER, sum), optionally of one user."""
    for tally in tallies:
        _project, its_user, type_name = tally["owner"]
        if user in (None, its_user):
            yield from ((type_name, name, amount) for name, amount in tally["amounts"].items())


def _amounts(claim: Claim) -> Iterator[tuple[str, int]]:
    yield NUMBER, 1
    for amounts in claim.allocations.values():
        yield from amounts.items()
