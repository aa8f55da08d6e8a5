# SPDX-License-Identifier: Apache-2.0
"""Pins of keys to partitions: answers of witnesses, and which of them are trusted."""

import pytest

from rpcapi import errors
from scheduler_svc.replication.presence import Presence
from scheduler_svc.scheduling.pins import PartitionPins
from tests.support.scheduler.deployments import PartitionedDeployment
from tests.support.scheduler.hosts import node

MEMORY_S = 100
TTL_MS = 1000 * MEMORY_S


class PinDeployment(PartitionedDeployment):
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
def pin_deployment():
    return PinDeployment()


def test_first_proposal_is_pinned_at_both_witnesses_only(pin_deployment):
    assert [pin_deployment.agree("a"), pin_deployment.agree("b"), pin_deployment.agree("c")] == ["a", "a", "a"]
    assert [
        pin_deployment.pinned_at(name) for name in (pin_deployment.first, pin_deployment.second, pin_deployment.third)
    ] == ["a", "a", None]


def test_witnesses_depend_on_the_key_and_are_distributed():
    deployment = PartitionedDeployment(**{name: {} for name in "abcd"})
    pins = PartitionPins(list(deployment.worker.partitions), MEMORY_S)
    witnesses = [tuple(partition.name for partition in pins._witnesses(f"key{number}")) for number in range(200)]
    assert len(set(witnesses)) == 12
    assert witnesses == [
        tuple(partition.name for partition in pins._witnesses(f"key{number}")) for number in range(200)
    ]


def test_pin_is_replaced_only_if_instead_of_matches(pin_deployment):
    pin_deployment.agree("a")
    assert pin_deployment.agree("b", instead_of="c") == "a"
    assert pin_deployment.agree("b", instead_of="a") == "b"
    assert pin_deployment.agree("c", instead_of="a") == "b"
    assert {pin_deployment.pinned_at(pin_deployment.first), pin_deployment.pinned_at(pin_deployment.second)} == {"b"}


def test_unused_pin_expires(pin_deployment):
    pin_deployment.agree("a")
    pin_deployment.wait(TTL_MS - 1)
    assert pin_deployment.agree("b") == "a"
    pin_deployment.wait(TTL_MS)
    assert pin_deployment.agree("b") == "b"


@pytest.mark.parametrize("away", ["first", "second"])
def test_one_witness_is_enough(pin_deployment, away):
    pin_deployment.agree("a")
    pin_deployment.take_away(getattr(pin_deployment, away))
    assert pin_deployment.agree("b") == "a"


def test_returning_witness_is_updated_by_the_other(pin_deployment):
    pin_deployment.take_away(pin_deployment.first)
    assert pin_deployment.agree("a") == "a"
    pin_deployment.take_away(pin_deployment.first, False)
    assert pin_deployment.agree("b") == "a"
    assert pin_deployment.pinned_at(pin_deployment.first) == "a"


def test_recently_unavailable_witness_is_not_trusted_alone(pin_deployment):
    pin_deployment.take_away(pin_deployment.first)
    assert pin_deployment.agree("a") == "a"
    pin_deployment.take_away(pin_deployment.first, False)
    pin_deployment.take_away(pin_deployment.second)
    with pytest.raises(errors.StoreUnavailable, match="no authoritative partition for key is reachable"):
        pin_deployment.agree("b")
    pin_deployment.wait(TTL_MS)  # the other witness's pins have expired
    assert pin_deployment.agree("b") == "b"


def test_witness_whose_pins_have_expired_is_not_needed(pin_deployment):
    pin_deployment.take_away(pin_deployment.second)
    pin_deployment.wait(TTL_MS - 1000)
    pin_deployment.take_away(pin_deployment.first)
    pin_deployment.take_away(pin_deployment.first, False)
    with pytest.raises(errors.StoreUnavailable, match="no authoritative partition for key is reachable"):
        pin_deployment.agree("a")
    assert pin_deployment.pinned_at(pin_deployment.first) is None
    pin_deployment.wait(1000)
    assert pin_deployment.agree("b") == "b"


def test_failed_call_leaves_no_pin_that_others_trust(pin_deployment):
    pin_deployment.take_away(pin_deployment.first)
    assert pin_deployment.agree("c") == "c"
    pin_deployment.take_away(pin_deployment.first, False)
    pin_deployment.take_away(pin_deployment.second)
    with pytest.raises(errors.StoreUnavailable, match="no authoritative partition for key is reachable"):
        pin_deployment.agree("a")
    pin_deployment.take_away(pin_deployment.second, False)
    assert pin_deployment.agree("b") == "c"


def test_witness_without_an_answer_is_marked_unavailable(pin_deployment):
    pin_deployment.stores[pin_deployment.first].away = True  # the follower has not noticed
    assert pin_deployment.agree("a") == "a"
    assert {partition.name for partition in pin_deployment.worker.partitions if partition.presence.away} == {
        pin_deployment.first
    }


def test_two_recently_unavailable_witnesses_are_trusted_together(pin_deployment):
    for name in (pin_deployment.first, pin_deployment.second):
        pin_deployment.take_away(name)
        pin_deployment.take_away(name, False)
    pin_deployment.stores[pin_deployment.second].pin("key", "a", TTL_MS)
    assert pin_deployment.agree("b") == "a"
    assert pin_deployment.pinned_at(pin_deployment.first) == "a"


def test_no_witness_raises_store_unavailable(pin_deployment):
    pin_deployment.take_away(pin_deployment.first)
    pin_deployment.take_away(pin_deployment.second)
    with pytest.raises(errors.StoreUnavailable):
        pin_deployment.agree("a")


def test_lost_pin_answer_is_recovered(pin_deployment):
    pin_deployment.stores[pin_deployment.first].lost_answer = "pin"
    assert pin_deployment.agree("a") == "a"
    pin_deployment.worker.follow()
    assert pin_deployment.agree("b") == "a"


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
