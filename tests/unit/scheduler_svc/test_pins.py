# SPDX-License-Identifier: Apache-2.0
"""Who serves a key: what witnesses say, which of them are believed, and when nobody is."""

import pytest

from rpcapi import errors
from scheduler_svc.deciding.pins import PartitionPins
from scheduler_svc.following.presence import Presence
from tests.unit.scheduler_svc.deployments import PartitionedDeployment
from tests.unit.scheduler_svc.hosts import node

MEMORY_S = 100
TTL_MS = 1000 * MEMORY_S


class World(PartitionedDeployment):
    """Three partitions; ``first`` and ``second`` are the witnesses of KEY, in their order."""

    def __init__(self):
        super().__init__(**{name: {f"{name}1": node()} for name in "abc"})
        self.pins = PartitionPins(list(self.worker.partitions), MEMORY_S)
        self.first, self.second = [witness.name for witness in self.pins._witnesses("key")]
        (self.third,) = {"a", "b", "c"} - {self.first, self.second}

    def agree(self, wanted, **more):
        return self.pins.agree("key", wanted, TTL_MS, **more)

    def told(self, name):
        """Return what a witness says, without leaving anything behind there."""
        return self.stores[name].state.pins.get("key", (None, 0))[0]


@pytest.fixture
def world():
    return World()


def test_the_first_to_ask_is_recorded_at_both_witnesses_and_nowhere_else(world):
    assert [world.agree("a"), world.agree("b"), world.agree("c")] == ["a", "a", "a"]
    assert [world.told(name) for name in (world.first, world.second, world.third)] == ["a", "a", None]


def test_witnesses_follow_from_the_key_and_are_shared_out():
    deployment = PartitionedDeployment(**{name: {} for name in "abcd"})
    pins = PartitionPins(list(deployment.worker.partitions), MEMORY_S)
    found = [tuple(each.name for each in pins._witnesses(f"key{number}")) for number in range(200)]
    assert len(set(found)) == 12
    assert found == [tuple(each.name for each in pins._witnesses(f"key{number}")) for number in range(200)]


def test_another_takes_the_place_of_the_one_that_is_named_only(world):
    world.agree("a")
    assert world.agree("b", instead_of="c") == "a"
    assert world.agree("b", instead_of="a") == "b"
    assert world.agree("c", instead_of="a") == "b"
    assert {world.told(world.first), world.told(world.second)} == {"b"}


def test_a_record_is_forgotten_when_nobody_asked_for_it_for_its_life(world):
    world.agree("a")
    world.wait(TTL_MS - 1)
    assert world.agree("b") == "a"
    world.wait(TTL_MS)
    assert world.agree("b") == "b"


@pytest.mark.parametrize("away", ["first", "second"])
def test_one_witness_is_enough(world, away):
    world.agree("a")
    world.take_away(getattr(world, away))
    assert world.agree("b") == "a"


def test_what_a_witness_missed_is_told_by_the_other_when_it_is_back(world):
    world.take_away(world.first)
    assert world.agree("a") == "a"
    world.take_away(world.first, False)
    assert world.agree("b") == "a"
    assert world.told(world.first) == "a"


def test_one_that_was_away_lately_is_not_believed_alone(world):
    world.take_away(world.first)
    assert world.agree("a") == "a"
    world.take_away(world.first, False)
    world.take_away(world.second)
    with pytest.raises(errors.StoreUnavailable, match="surely knows who serves key"):
        world.agree("b")
    world.wait(TTL_MS)  # whatever the other knows is over
    assert world.agree("b") == "b"


def test_one_that_has_been_away_for_all_that_it_may_know_is_not_needed(world):
    world.take_away(world.second)
    world.wait(TTL_MS - 1000)
    world.take_away(world.first)
    world.take_away(world.first, False)
    with pytest.raises(errors.StoreUnavailable, match="surely knows who serves key"):
        world.agree("a")
    assert world.told(world.first) is None
    world.wait(1000)
    assert world.agree("b") == "b"


def test_a_call_that_nobody_could_answer_leaves_nothing_that_others_believe(world):
    world.take_away(world.first)
    assert world.agree("c") == "c"
    world.take_away(world.first, False)
    world.take_away(world.second)
    with pytest.raises(errors.StoreUnavailable, match="surely knows who serves key"):
        world.agree("a")
    world.take_away(world.second, False)
    assert world.agree("b") == "c"


def test_a_witness_that_does_not_answer_is_found_to_be_away(world):
    world.stores[world.first].away = True  # the follower has not noticed
    assert world.agree("a") == "a"
    assert {each.name for each in world.worker.partitions if each.presence.away} == {world.first}


def test_of_two_that_were_away_both_together_are_believed(world):
    for name in (world.first, world.second):
        world.take_away(name)
        world.take_away(name, False)
    world.stores[world.second].pin("key", "a", TTL_MS)
    assert world.agree("b") == "a"
    assert world.told(world.first) == "a"


def test_without_any_witness_nobody_knows(world):
    world.take_away(world.first)
    world.take_away(world.second)
    with pytest.raises(errors.StoreUnavailable):
        world.agree("a")


def test_an_answer_that_was_lost_is_found_again(world):
    world.stores[world.first].mute = "pin"
    assert world.agree("a") == "a"
    world.worker.follow()
    assert world.agree("b") == "a"


def test_presence_tells_since_when():
    now = 100.0
    presence = Presence(lambda: now)
    assert (presence.away, presence.away_s, presence.steady_s) == (True, 0.0, 0.0)
    presence.record_answer()
    assert presence.steady_s == float("inf")  # as far as anybody knows it was always there
    presence.record_failure()
    now = 103.0
    presence.record_failure()
    assert (presence.away_s, presence.steady_s) == (3.0, 0.0)
    presence.record_answer()
    now = 104.0
    presence.record_answer()
    assert (presence.away, presence.away_s, presence.steady_s) == (False, 0.0, 1.0)
