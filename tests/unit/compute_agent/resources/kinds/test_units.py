# SPDX-License-Identifier: Apache-2.0
"""Devices that are assigned by unit."""

from typing import Any

from compute_agent.attempt import Attempt
from compute_agent.resources.requirements import BuildRequirements
from compute_agent.resources.tracker import ResourceTracker
from rpcapi.resources.numa.cells import HostCell
from tests.support.agent.machines import intent, node

NIC, GPU = "CUSTOM_PCI_8086_154D", "VGPU"


MB_2 = "CUSTOM_MEMORY_PAGES_2048KB"


def test_guests_get_distinct_cpus_pages_and_units() -> None:
    tracker = ResourceTracker([node()])
    amounts: dict[str, Any] = {
        "numa0": {"PCPU": 2, MB_2: 4},
        "numa0/0000:01:00.0": {NIC: 2},
        "numa1/gpu-0": {GPU: 1},
    }
    attempts = []
    for uuid in "ab":
        admitted = tracker.admit(intent(uuid, **amounts), BuildRequirements())
        assert isinstance(admitted, Attempt)
        tracker.hold(admitted)
        attempts.append(admitted)
    assert [entry.assignments["pci"]["units"] for entry in attempts] == [
        {"numa0/0000:01:00.0": ["0000:01:00.1", "0000:01:00.2"]},
        {"numa0/0000:01:00.0": ["0000:01:00.3", "0000:01:00.4"]},
    ]
    assert [entry.assignments["device"]["units"] for entry in attempts] == [
        {"numa1/gpu-0": ["0"]},
        {"numa1/gpu-0": ["1"]},
    ]
    assert tracker.describe(attempts[1]) == (
        "numa1/gpu-0: 1; NUMA cell 0: CPUs 0>2 1>10, 2 pages of 2048 kB; numa0/0000:01:00.0: 0000:01:00.3 0000:01:00.4"
    )
    cell = HostCell.from_dict(tracker.kind_reports(node())["numa"][0])
    assert (cell.pinned, cell.used_pages[2048]) == ({1, 9, 2, 10}, 4)
    # when the first guest ends, the next one gets the same units
    tracker.drop(attempts[0].ref)
    again = tracker.admit(intent("c", **amounts), BuildRequirements())
    assert isinstance(again, Attempt)
    assert again.assignments == attempts[0].assignments
