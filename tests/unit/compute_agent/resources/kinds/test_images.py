# SPDX-License-Identifier: Apache-2.0
"""Counts of guests by image property."""

import pytest

from compute_agent.attempt import Attempt, Stage
from compute_agent.resources.kinds.images import MAX_COUNTS, MAX_VALUE_LENGTH
from compute_agent.resources.requirements import BuildRequirements
from compute_agent.resources.tracker import ResourceTracker
from tests.support.agent.machines import node

PLAIN = """
    [compute]
    hosts = alpha
    [shape:small]
    vcpus = 64
"""
COUNTED_PROPERTIES = PLAIN + "    counted_image_properties = os_distro,os_type\n"
NODE = "alpha/node0"


def hold(tracker: ResourceTracker, uuid: str, **properties: str) -> Attempt:
    intent = Attempt(uuid, 1, Stage.INTENT, 0, name=NODE, allocations={NODE: {"VCPU": 1}})
    admitted = tracker.admit(intent, BuildRequirements(image={"id": "i", "properties": properties}))
    assert isinstance(admitted, Attempt)
    tracker.hold(admitted)
    return admitted


def test_guests_are_counted_by_image_property_also_after_restart() -> None:
    image_node = node(COUNTED_PROPERTIES)
    tracker = ResourceTracker([image_node])
    attempts = [
        hold(tracker, "a", os_distro="ubuntu", os_type="linux", hw_disk_bus="scsi"),
        hold(tracker, "b", os_distro="centos", os_type="linux"),
        hold(tracker, "c"),
    ]
    counts = {"image.os_type=linux": 2, "image.os_distro=ubuntu": 1, "image.os_distro=centos": 1}
    assert tracker.kind_reports(image_node) == {"metrics": counts}
    # given the journalled attempts, a new agent has the same counts
    again = ResourceTracker([image_node])
    for attempt in attempts:
        again.hold(attempt)
    assert again.kind_reports(image_node) == {"metrics": counts}
    again.drop(attempts[0].ref)
    assert again.kind_reports(image_node) == {"metrics": {"image.os_type=linux": 1, "image.os_distro=centos": 1}}


def test_number_of_reported_counts_is_bounded() -> None:
    image_node = node(COUNTED_PROPERTIES)
    tracker = ResourceTracker([image_node])
    hold(tracker, "long", os_distro="x" * (MAX_VALUE_LENGTH + 1))
    for number in range(MAX_COUNTS + 5):
        hold(tracker, f"c{number}", os_distro=f"d{number}")
    hold(tracker, "common", os_distro=f"d{MAX_COUNTS + 4}")
    counts = tracker.kind_reports(image_node)["metrics"]
    assert len(counts) == MAX_COUNTS
    assert counts[f"image.os_distro=d{MAX_COUNTS + 4}"] == 2


@pytest.mark.parametrize("text", [PLAIN, PLAIN + "    counted_image_properties =\n"])
def test_shape_without_counted_properties_has_no_assignments(text: str) -> None:
    image_node = node(text)
    tracker = ResourceTracker([image_node])
    assert hold(tracker, "a", os_distro="ubuntu").assignments == {}
    assert tracker.kind_reports(image_node) == {}
