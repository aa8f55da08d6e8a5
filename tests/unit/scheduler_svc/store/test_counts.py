# SPDX-License-Identifier: Apache-2.0
"""The number of live claims by state."""

from scheduler_svc.core.records import ClaimRef
from tests.unit.scheduler_svc.store.world import World


def test_counts_returns_live_claims_by_state(world: World) -> None:
    world.add_host("h1")
    for consumer in ("c1", "c2", "c3", "c4"):
        world.prepare(consumer, "h1")
    world.store.confirm("h1", [ClaimRef("c1", 1), ClaimRef("c2", 1)])
    world.store.release("h1", [ClaimRef("c2", 1)])
    world.store.abort([ClaimRef("c3", 1)])
    assert world.store.counts() == {"prepared": 1, "confirmed": 1}


def test_counts_of_an_empty_partition_are_zero(world: World) -> None:
    assert world.store.counts() == {"prepared": 0, "confirmed": 0}
