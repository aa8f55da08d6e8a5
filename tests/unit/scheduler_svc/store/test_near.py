# SPDX-License-Identifier: Apache-2.0
"""Among near candidates, those unchanged since the decision are tried first."""

from rpcapi.resources.claims import Verdict
from scheduler_svc.core.records import Candidate, Intent
from tests.unit.scheduler_svc.store.world import World

PASSED, FITS, FULL, CONCURRENT = Verdict.PASSED, Verdict.FITS, Verdict.FULL, Verdict.CONCURRENT


def hosts(world: World, *names: str) -> int:
    """Add hosts, and return the position of the decision."""
    for name in names:
        world.add_host(name, amounts={"VCPU": 2})
    return world.store.snapshot().position


def claim(world: World, position: int, *candidates: Candidate, near: int, amount: int = 1):
    batch = world.batch(Intent("asked", 1, candidates, near=near), resources={"VCPU": amount}, position=position)
    return world.store.prepare(batch).prepared[0]


def touch(world: World, host: str, amount: int = 1) -> None:
    world.prepare(f"other-{host}", host, resources={"VCPU": amount})


def test_unchanged_near_candidate_is_tried_before_changed(world: World) -> None:
    position = hosts(world, "a", "b", "c")
    touch(world, "a")
    result = claim(world, position, *map(Candidate, "abc"), near=3)
    assert (result.host, result.verdicts, result.alternates) == ("b", (PASSED, FITS), ("c",))


def test_worse_candidate_is_not_tried_before_changed_near_candidate(world: World) -> None:
    position = hosts(world, "a", "b", "c")
    touch(world, "a")
    assert claim(world, position, *map(Candidate, "abc"), near=1).verdicts == (FITS,)


def test_first_candidate_is_tried_first_when_all_near_changed(world: World) -> None:
    position = hosts(world, "a", "b", "c")
    touch(world, "a")
    touch(world, "b")
    result = claim(world, position, *map(Candidate, "abc"), near=2)
    assert (result.host, result.verdicts, result.alternates) == ("a", (FITS, PASSED), ("b", "c"))


def test_changed_near_candidate_is_tried_before_worse(world: World) -> None:
    position = hosts(world, "a", "b", "c", "d")
    touch(world, "a", 2)
    touch(world, "b")
    result = claim(world, position, *map(Candidate, "abcd"), near=2)
    assert (result.host, result.verdicts) == ("b", (CONCURRENT, FITS))


def test_other_candidates_are_tried_when_no_near_fits(world: World) -> None:
    position = hosts(world, "a", "b", "c")
    touch(world, "a", 2)
    touch(world, "b", 2)
    result = claim(world, position, *map(Candidate, "abc"), near=2)
    assert (result.host, result.verdicts) == ("c", (CONCURRENT, CONCURRENT, FITS))


def test_own_claims_of_the_worker_are_not_a_change(world: World) -> None:
    position = hosts(world, "a", "b")
    touch(world, "a")
    sums_position = world.store.snapshot().position
    assert claim(world, position, Candidate("a", sums_position=sums_position), Candidate("b"), near=2).verdicts == (
        FITS,
    )


def test_sums_position_distinguishes_full_from_concurrent(world: World) -> None:
    position = hosts(world, "a")
    touch(world, "a", 2)
    sums_position = world.store.snapshot().position
    assert claim(world, position, Candidate("a", sums_position=sums_position), near=1).verdicts == (FULL,)
    assert claim(world, position, Candidate("a"), near=1).verdicts == (CONCURRENT,)


def test_candidate_may_have_allocations_and_sums_position(world: World) -> None:
    position = hosts(world, "a", "b")
    touch(world, "a")
    sums_position = world.store.snapshot().position
    own = {"a": {"VCPU": 1}}
    result = claim(world, position, Candidate("a", own, sums_position), Candidate("b"), near=2)
    assert (result.host, result.verdicts) == ("a", (FITS,))
    assert world.used("a") == {"VCPU": 2}
