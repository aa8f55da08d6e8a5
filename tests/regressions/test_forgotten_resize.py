# SPDX-License-Identifier: Apache-2.0
"""Regression: after the conductors' store forgot a resize, the record had the new claim and the old flavor.

Its quota counted less than it used, and an evacuation requested the old amounts.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from conductor.store.records import InstanceRecord
from tests.regressions.moves import MINUTE_MS, MovingInstance, open_cluster
from tests.support.simulation.moves_cluster import FLAVORS
from tests.support.store.backends import memory_partition

LARGE = {"VCPU": 3, "MEMORY_MB": 1024}


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[MovingInstance]:
    for cluster in open_cluster(tmp_path, memory_partition()):
        cluster.mark_records()
        cluster.request("resize", flavor=FLAVORS["m1.3"])
        cluster.settle(MINUTE_MS)
        cluster.check_waits_for_confirm(("h1", 1), ("h1", 2))
        yield cluster


def forget(cluster: MovingInstance) -> None:
    """Let the conductors' store forget the resize, and compare its records with the claims."""
    cluster.forget_records()
    assert (cluster.instance.status, cluster.instance.attempt) == ("ACTIVE", 1)
    cluster.settle(MINUTE_MS)
    cluster.compare_often()


def shown(record: InstanceRecord) -> dict[str, Any]:
    """Return what users see of a resized instance, and what counts against quotas."""
    move = record.move
    return {
        "instance": (record.status, record.host, record.attempt, record.flavor, record.spec, record.amounts),
        "move": (move.uuid, move.kind, move.status, move.old_flavor, move.new_flavor, move.spec),
        "ends": (move.source_host, move.source_attempt, move.destination_host, move.destination_attempt),
    }


def test_record_shows_the_resize_again(cluster: MovingInstance) -> None:
    resized, usage = shown(cluster.instance), cluster.store.usage("project")
    forget(cluster)
    cluster.check_waits_for_confirm(("h1", 1), ("h1", 2))
    assert (shown(cluster.instance), cluster.store.usage("project")) == (resized, usage)
    assert (cluster.instance.move.old_flavor, cluster.instance.move.new_flavor) == ("m1.1", "m1.3")
    assert usage["VCPU"] == 3


@pytest.mark.parametrize(("verb", "end"), [("confirm", ("m1.3", 3, 2)), ("revert", (None, 1, 1))])
def test_resize_that_is_shown_again_can_be_ended(
    cluster: MovingInstance, verb: str, end: tuple[str | None, int, int]
) -> None:
    forget(cluster)
    cluster.end_move(verb, 0)
    cluster.settle()
    flavor, vcpus, attempt = end
    cluster.check_rests_on("h1", attempt)
    assert (cluster.instance.flavor, cluster.store.usage("project")["VCPU"]) == (flavor, vcpus)
    assert cluster.allocations() == [{"h1/n": {**LARGE, "VCPU": vcpus}}]


def test_confirmed_resize_keeps_its_flavor_when_it_is_evacuated(cluster: MovingInstance) -> None:
    cluster.end_move("confirm", 0)
    cluster.settle()
    cluster.check_rests_on("h1", 2)
    forget(cluster)
    cluster.check_rests_on("h1", 2)
    assert (cluster.instance.flavor, cluster.store.usage("project")["VCPU"]) == ("m1.3", 3)
    # When its host is lost
    cluster.lose_host("h1")
    cluster.request("evacuate")
    cluster.settle()
    # Then it gets what it was resized to
    assert cluster.allocations() == [{"h2/n": LARGE}]
    cluster.hosts.start("h1")
    cluster.repair()
    cluster.check_rests_on("h2")
    assert (cluster.instance.flavor, cluster.allocations()) == ("m1.3", [{"h2/n": LARGE}])
