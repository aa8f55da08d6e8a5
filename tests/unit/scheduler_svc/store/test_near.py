# SPDX-License-Identifier: Apache-2.0
"""Among candidates that are about equally good, those that nobody touched since the decision go first."""

from rpcapi.model.claims import Verdict
from scheduler_svc.store.records import Candidate, Intent
from tests.unit.scheduler_svc.store.world import World

PASSED, FITS, FULL, CONCURRENT = Verdict.PASSED, Verdict.FITS, Verdict.FULL, Verdict.CONCURRENT


def hosts(world: World, *names: str) -> int:
    """Add hosts, and return the position that is decided on."""
    for name in names:
        world.add_host(name, amounts={"VCPU": 2})
    return world.store.snapshot().position


def claim(world: World, position: int, *candidates: Candidate, near: int, amount: int = 1):
    batch = world.batch(Intent("asked", 1, candidates, near=near), resources={"VCPU": amount}, position=position)
    return world.store.prepare(batch).prepared[0]


def touch(world: World, host: str, amount: int = 1) -> None:
    world.prepare(f"other-{host}", host, resources={"VCPU": amount})


def test_an_untouched_near_one_goes_before_one_that_changed(world: World) -> None:
    position = hosts(world, "a", "b", "c")
    touch(world, "a")
    given = claim(world, position, *map(Candidate, "abc"), near=3)
    assert (given.host, given.verdicts, given.alternates) == ("b", (PASSED, FITS), ("c",))


def test_one_that_is_worse_does_not(world: World) -> None:
    position = hosts(world, "a", "b", "c")
    touch(world, "a")
    assert claim(world, position, *map(Candidate, "abc"), near=1).verdicts == (FITS,)


def test_where_all_near_ones_changed_the_first_is_still_the_best(world: World) -> None:
    position = hosts(world, "a", "b", "c")
    touch(world, "a")
    touch(world, "b")
    given = claim(world, position, *map(Candidate, "abc"), near=2)
    assert (given.host, given.verdicts, given.alternates) == ("a", (FITS, PASSED), ("b", "c"))


def test_a_changed_near_one_goes_before_one_that_is_worse(world: World) -> None:
    position = hosts(world, "a", "b", "c", "d")
    touch(world, "a", 2)
    touch(world, "b")
    given = claim(world, position, *map(Candidate, "abcd"), near=2)
    assert (given.host, given.verdicts) == ("b", (CONCURRENT, FITS))


def test_when_no_near_one_fits_the_others_are_tried(world: World) -> None:
    position = hosts(world, "a", "b", "c")
    touch(world, "a", 2)
    touch(world, "b", 2)
    given = claim(world, position, *map(Candidate, "abc"), near=2)
    assert (given.host, given.verdicts) == ("c", (CONCURRENT, CONCURRENT, FITS))


def test_what_the_decider_claimed_itself_is_no_news(world: World) -> None:
    position = hosts(world, "a", "b")
    touch(world, "a")
    seen = world.store.snapshot().position
    assert claim(world, position, Candidate("a", sums_position=seen), Candidate("b"), near=2).verdicts == (FITS,)


def test_sums_that_were_seen_tell_full_from_concurrent(world: World) -> None:
    position = hosts(world, "a")
    touch(world, "a", 2)
    seen = world.store.snapshot().position
    assert claim(world, position, Candidate("a", sums_position=seen), near=1).verdicts == (FULL,)
    assert claim(world, position, Candidate("a"), near=1).verdicts == (CONCURRENT,)


def test_allocations_and_what_was_seen_go_together(world: World) -> None:
    position = hosts(world, "a", "b")
    touch(world, "a")
    seen = world.store.snapshot().position
    own = {"a": {"VCPU": 1}}
    given = claim(world, position, Candidate("a", own, seen), Candidate("b"), near=2)
    assert (given.host, given.verdicts) == ("a", (FITS,))
    assert world.used("a") == {"VCPU": 2}
