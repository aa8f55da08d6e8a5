# SPDX-License-Identifier: Apache-2.0
"""Pins of keys to partitions: answers of witnesses, and which of them are trusted."""

import pytest

from rpcapi import errors
from scheduler_svc.replication.presence import Presence
from scheduler_svc.scheduling.pins import PartitionPins
from tests.unit.scheduler_svc.fakes.deployments import PartitionedDeployment
from tests.unit.scheduler_svc.fakes.hosts import node

MEMORY_S = 100
TTL_MS = 1000 * MEMORY_S


class PinsWorld(PartitionedDeployment):
    """Three partitions; ``first`` and ``second`` are the witnesses of KEY, in their order."""

    def __init__(self):
        super().__init__(**{name: {f"{name}1": node()} for name in "abc"})
        self.pins = PartitionPins(list(self.worker.partitions), MEMORY_S)
        self.first, self.second = [witness.name for witness in self.pins._witnesses("key")]
        (self.third,) = {"a", "b", "c"} - {self.first, self.second}

    def agree(self, proposed, **more):
        return self.pins.agree("key", proposed, TTL_MS, **more)

    def pinned_at(self, name):
        """Return the pin stored at a witness, without changing it."""
        return self.stores[name].state.pins.get("key", (None, 0))[0]


@pytest.fixture
def world():
    return PinsWorld()


def test_first_proposal_is_pinned_at_both_witnesses_only(world):
    assert [world.agree("a"), world.agree("b"), world.agree("c")] == ["a", "a", "a"]
    assert [world.pinned_at(name) for name in (world.first, world.second, world.third)] == ["a", "a", None]


def test_witnesses_depend_on_the_key_and_are_distributed():
    deployment = PartitionedDeployment(**{name: {} for name in "abcd"})
    pins = PartitionPins(list(deployment.worker.partitions), MEMORY_S)
    witnesses = [tuple(partition.name for partition in pins._witnesses(f"key{number}")) for number in range(200)]
    assert len(set(witnesses)) == 12
    assert witnesses == [
        tuple(partition.name for partition in pins._witnesses(f"key{number}")) for number in range(200)
    ]


def test_pin_is_replaced_only_if_instead_of_matches(world):
    world.agree("a")
    assert world.agree("b", instead_of="c") == "a"
    assert world.agree("b", instead_of="a") == "b"
    assert world.agree("c", instead_of="a") == "b"
    assert {world.pinned_at(world.first), world.pinned_at(world.second)} == {"b"}


def test_unused_pin_expires(world):
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


def test_returning_witness_is_updated_by_the_other(world):
    world.take_away(world.first)
    assert world.agree("a") == "a"
    world.take_away(world.first, False)
    assert world.agree("b") == "a"
    assert world.pinned_at(world.first) == "a"


def test_recently_unavailable_witness_is_not_trusted_alone(world):
    world.take_away(world.first)
    assert world.agree("a") == "a"
    world.take_away(world.first, False)
    world.take_away(world.second)
    with pytest.raises(errors.StoreUnavailable, match="no authoritative partition for key is reachable"):
        world.agree("b")
    world.wait(TTL_MS)  # the other witness's pins have expired
    assert world.agree("b") == "b"


def test_witness_whose_pins_have_expired_is_not_needed(world):
    world.take_away(world.second)
    world.wait(TTL_MS - 1000)
    world.take_away(world.first)
    world.take_away(world.first, False)
    with pytest.raises(errors.StoreUnavailable, match="no authoritative partition for key is reachable"):
        world.agree("a")
    assert world.pinned_at(world.first) is None
    world.wait(1000)
    assert world.agree("b") == "b"


def test_failed_call_leaves_no_pin_that_others_trust(world):
    world.take_away(world.first)
    assert world.agree("c") == "c"
    world.take_away(world.first, False)
    world.take_away(world.second)
    with pytest.raises(errors.StoreUnavailable, match="no authoritative partition for key is reachable"):
        world.agree("a")
    world.take_away(world.second, False)
    assert world.agree("b") == "c"


def test_witness_without_an_answer_is_marked_unavailable(world):
    world.stores[world.first].away = True  # the follower has not noticed
    assert world.agree("a") == "a"
    assert {partition.name for partition in world.worker.partitions if partition.presence.away} == {world.first}


def test_two_recently_unavailable_witnesses_are_trusted_together(world):
    for name in (world.first, world.second):
        world.take_away(name)
        world.take_away(name, False)
    world.stores[world.second].pin("key", "a", TTL_MS)
    assert world.agree("b") == "a"
    assert world.pinned_at(world.first) == "a"


def test_no_witness_raises_store_unavailable(world):
    world.take_away(world.first)
    world.take_away(world.second)
    with pytest.raises(errors.StoreUnavailable):
        world.agree("a")


def test_lost_pin_answer_is_recovered(world):
    world.stores[world.first].lost_answer = "pin"
    assert world.agree("a") == "a"
    world.worker.follow()
    assert world.agree("b") == "a"


def test_presence_has_duration_of_outage_and_availability():
    now = 100.0
    presence = Presence(lambda: now)
    assert (presence.away, presence.away_s, presence.steady_s) == (True, 0.0, 0.0)
    presence.record_answer()
    assert presence.steady_s == float("inf")  # no outage is known
    presence.record_failure()
    now = 103.0
    presence.record_failure()
    assert (presence.away_s, presence.steady_s) == (3.0, 0.0)
    presence.record_answer()
    now = 104.0
    presence.record_answer()
    assert (presence.away, presence.away_s, presence.steady_s) == (False, 0.0, 1.0)
