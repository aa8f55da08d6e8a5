# SPDX-License-Identifier: Apache-2.0
"""The hosts of consumers, for scheduler hints that name instances."""

import pytest

from rpcapi import errors
from scheduler_svc.core.records import ClaimRef
from scheduler_svc.store.validation import MAX_REFS
from tests.unit.scheduler_svc.store.world import SHORT_MS, World


def test_hosts_of_returns_prepared_and_confirmed_claims(world: World) -> None:
    world.add_host("h1", "h1/n1", "h1/n2")
    world.prepare("c1", "h1/n1")
    world.hold("c2", "h1/n2")
    assert world.store.hosts_of(["c1", "c2", "unheard-of"]) == {"c1": "h1/n1", "c2": "h1/n2"}
    assert world.store.hosts_of([]) == {}


def test_hosts_of_omits_ended_and_expired_claims(world: World) -> None:
    world.add_host("h1")
    world.prepare("c1", "h1")
    world.store.abort([ClaimRef("c1", 1)])
    world.pass_deadline(world.prepare("c2", "h1", ttl_ms=SHORT_MS))
    assert world.store.hosts_of(["c1", "c2"]) == {}
    assert world.states() == {} and world.used("h1") == {}


def test_number_of_consumers_is_limited(world: World) -> None:
    world.add_host("h1")
    many = [f"c{n}" for n in range(MAX_REFS)]
    world.prepare("c7", "h1")
    assert world.store.hosts_of(many) == {"c7": "h1"}
    with pytest.raises(errors.InvalidRequest, match="at most 1000 consumers"):
        world.store.hosts_of([*many, "one more"])
    with pytest.raises(errors.InvalidName):
        world.store.hosts_of([""])
