# SPDX-License-Identifier: Apache-2.0
"""Rounds in which clients concurrently claim the same capacity, and the amount sold in each."""

import uuid
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from devstack.lab.placement.calls import allocation
from devstack.lab.rows import ResultRow
from devstack.nova.client import CallFailed, CloudPlacementClient

ROUNDS, CLIENTS, CLAIMS, CAPACITY = 10, 10, 40, 16
REPETITIONS = 5  # repetitions of a claim that failed with CONCURRENT_UPDATE
CONFLICT, CONCURRENT_UPDATE = 409, "placement.concurrent_update"
RESOURCE = "VCPU"

MakeClient = Callable[[], CloudPlacementClient]


@dataclass(frozen=True, slots=True)
class RaceRound:
    """Accepted and repeated claims of a round, and the provider's usage."""

    accepted: int
    usage: int
    repeated: int

    @property
    def is_exact(self) -> bool:
        return self.accepted == self.usage == CAPACITY


def measure(sides: Mapping[str, MakeClient], rounds: int) -> Iterator[ResultRow]:
    """Run rounds of each side alternately, and yield a row per side. The first side has the budget."""
    results: dict[str, list[RaceRound]] = {name: [] for name in sides}
    for _ in range(rounds):
        for name, make_client in sides.items():
            results[name].append(run_round(make_client))
    for number, (name, side_rounds) in enumerate(results.items()):
        yield _row(name, side_rounds, budget=None if number else 0)


def run_round(make_client: MakeClient) -> RaceRound:
    """Claim from a new provider by CLIENTS clients at once, and clean up. Raises CallFailed for unexpected errors."""
    client, provider = make_client(), str(uuid.uuid4())
    path = f"/resource_providers/{provider}"
    created = client.call("POST", "/resource_providers", {"name": provider, "uuid": provider})
    inventory = {"resource_provider_generation": created["generation"]}
    inventory |= {"inventories": {RESOURCE: {"total": CAPACITY, "max_unit": CAPACITY}}}
    client.call("PUT", f"{path}/inventories", inventory)
    with ThreadPoolExecutor(CLIENTS) as pool:
        answers = list(pool.map(lambda _: _claim_share(make_client(), provider), range(CLIENTS)))
    usage = client.get(f"{path}/usages")["usages"].get(RESOURCE, 0)
    consumers = [consumer for accepted, _ in answers for consumer in accepted]
    for consumer in consumers:
        client.call("DELETE", f"/allocations/{consumer}")
    client.call("DELETE", path)
    return RaceRound(len(consumers), usage, sum(repeated for _, repeated in answers))


def _claim_share(client: CloudPlacementClient, provider: str) -> tuple[list[str], int]:
    accepted, repetitions = [], 0
    for _ in range(CLAIMS // CLIENTS):
        consumer = str(uuid.uuid4())
        is_accepted, repeated = _claim(client, consumer, provider)
        repetitions += repeated
        if is_accepted:
            accepted.append(consumer)
    return accepted, repetitions


def _claim(client: CloudPlacementClient, consumer: str, provider: str) -> tuple[bool, int]:
    """Return whether a claim was accepted, and the number of repetitions."""
    for repetition in range(REPETITIONS + 1):
        try:
            client.call("PUT", f"/allocations/{consumer}", allocation(provider, {RESOURCE: 1}))
        except CallFailed as why:
            if why.status != CONFLICT:
                raise
            if CONCURRENT_UPDATE not in str(why):
                return False, repetition
        else:
            return True, repetition
    return False, REPETITIONS


def _row(name: str, rounds: list[RaceRound], budget: float | None) -> ResultRow:
    accepted = [race_round.accepted for race_round in rounds]
    figures: dict[str, float | int | str] = {
        "rounds": len(rounds),
        "accepted_min": min(accepted),
        "accepted_max": max(accepted),
        "usage_max": max(race_round.usage for race_round in rounds),
        "repeated_claims": sum(race_round.repeated for race_round in rounds),
    }
    inexact = sum(not race_round.is_exact for race_round in rounds)
    question = (
        f"{CLAIMS} claims of {CAPACITY} by {CLIENTS} clients, {name}: rounds that did not sell exactly {CAPACITY}"
    )
    return ResultRow(question, inexact, budget, "at most", figures)
