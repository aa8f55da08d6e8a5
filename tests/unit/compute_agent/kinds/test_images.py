# SPDX-License-Identifier: Apache-2.0
"""Guests counted by what their images say."""

import pytest

from compute_agent.attempt import Attempt, Stage
from compute_agent.kinds.images import MAX_COUNTS, MAX_VALUE_LENGTH
from compute_agent.tracker import ResourceTracker
from compute_agent.wish import BuildRequirements
from tests.unit.compute_agent.machines import node

PLAIN = """
    [compute]
    hosts = alpha
    [shape:small]
    vcpus = 64
"""
COUNTED = PLAIN + "    counted_image_properties = os_distro,os_type\n"
NODE = "alpha/node0"


def hold(tracker: ResourceTracker, uuid: str, **properties: str) -> Attempt:
    intent = Attempt(uuid, 1, Stage.INTENT, 0, name=NODE, allocations={NODE: {"VCPU": 1}})
    admitted = tracker.admit(intent, BuildRequirements(image={"id": "i", "properties": properties}))
    assert isinstance(admitted, Attempt)
    tracker.hold(admitted)
    return admitted


def test_guests_are_counted_by_each_value_and_again_after_a_restart() -> None:
    made = node(COUNTED)
    tracker = ResourceTracker([made])
    held = [
        hold(tracker, "a", os_distro="ubuntu", os_type="linux", hw_disk_bus="scsi"),
        hold(tracker, "b", os_distro="centos", os_type="linux"),
        hold(tracker, "c"),
    ]
    counts = {"image.os_type=linux": 2, "image.os_distro=ubuntu": 1, "image.os_distro=centos": 1}
    assert tracker.kind_reports(made) == {"metrics": counts}
    # given what the journal kept of them, the next agent counts the same
    again = ResourceTracker([made])
    for attempt in held:
        again.hold(attempt)
    assert again.kind_reports(made) == {"metrics": counts}
    again.drop(held[0].ref)
    assert again.kind_reports(made) == {"metrics": {"image.os_type=linux": 1, "image.os_distro=centos": 1}}


def test_what_a_node_reports_is_bounded() -> None:
    made = node(COUNTED)
    tracker = ResourceTracker([made])
    hold(tracker, "long", os_distro="x" * (MAX_VALUE_LENGTH + 1))
    for number in range(MAX_COUNTS + 5):
        hold(tracker, f"c{number}", os_distro=f"d{number}")
    hold(tracker, "common", os_distro=f"d{MAX_COUNTS + 4}")
    counts = tracker.kind_reports(made)["metrics"]
    assert len(counts) == MAX_COUNTS
    assert counts[f"image.os_distro=d{MAX_COUNTS + 4}"] == 2


@pytest.mark.parametrize("text", [PLAIN, PLAIN + "    counted_image_properties =\n"])
def test_a_shape_that_counts_nothing_costs_nothing(text: str) -> None:
    made = node(text)
    tracker = ResourceTracker([made])
    assert hold(tracker, "a", os_distro="ubuntu").assignments == {}
    assert tracker.kind_reports(made) == {}
