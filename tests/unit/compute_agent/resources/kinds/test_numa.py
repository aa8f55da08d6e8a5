# SPDX-License-Identifier: Apache-2.0
"""NUMA cells of nodes: their CPUs, and guests with a topology."""

import pytest

from compute_agent.attempt import Attempt
from compute_agent.resources.requirements import BuildRequirements
from compute_agent.resources.tracker import ResourceTracker
from rpcapi import objects
from rpcapi.resources.numa.cells import HostCell
from tests.support.agent.machines import NODE, intent, node

NIC = "CUSTOM_PCI_8086_154D"


def test_cells_have_whole_cores_and_report_pinned_and_shared_cpus() -> None:
    cells_state = ResourceTracker([node()]).kind_reports(node())["numa"]
    cells = [HostCell.from_dict(entry) for entry in cells_state]
    assert cells[0].cores == ((1, 9), (2, 10), (3, 11))
    assert cells[1].cores == ((5, 13), (6, 14), (7, 15))
    assert [cell.shared for cell in cells] == [{0, 8}, {4, 12}]
    assert cells[0].pages == {2048: 512, 1048576: 2}


def test_topology_cells_are_assigned_to_host_cells() -> None:
    numa = {
        "cells": [
            {"id": 0, "group": "_numa0", "cpus": [0, 1], "pcpus": [0, 1], "memory_mb": 64},
            {"id": 1, "group": "_numa1", "cpus": [2, 3], "pcpus": [2], "memory_mb": 64},
        ],
        "cpu_policy": "mixed",
        "emulator_threads": "isolate",
    }
    groups = {
        "_numa0": {"resources": {"PCPU": 3, "MEMORY_MB": 64}},
        "_numa1": {"resources": {"PCPU": 1, "VCPU": 1, "MEMORY_MB": 64}},
        "_pci0": {"resources": {NIC: 1}},
    }
    spec = objects.RequestSpec.of(
        resources={"DISK_GB": 1}, groups=groups, groups_policy="none", numa=numa, same_subtree=[["_numa0", "_pci0"]]
    )
    amounts_by_path = {
        "_": {"DISK_GB": 1},
        "numa1": {"PCPU": 3, "MEMORY_MB": 64},
        "numa0": {"PCPU": 1, "VCPU": 1, "MEMORY_MB": 64},
        "numa1/0000:02:00.0": {NIC: 1},
    }
    tracker = ResourceTracker([node()])
    admitted = tracker.admit(intent("a", **amounts_by_path), BuildRequirements.from_spec(spec))
    assert isinstance(admitted, Attempt)
    assert tracker.describe(admitted) == (
        "NUMA cell 0: CPUs 2>1, CPUs 3 float; NUMA cell 1: CPUs 0>5 1>13, its emulator on 6; "
        "numa1/0000:02:00.0: 0000:02:00.1"
    )
    # and a device at the wrong cell is refused
    amounts_by_path["numa0/0000:01:00.0"] = amounts_by_path.pop("numa1/0000:02:00.0")
    assert tracker.admit(intent("b", **amounts_by_path), BuildRequirements.from_spec(spec)) == (
        f"node {NODE}: its allocations do not match its NUMA topology"
    )


def test_node_without_cells_refuses_a_topology() -> None:
    spec = objects.RequestSpec.of(
        resources={},
        groups={"_numa0": {"resources": {"VCPU": 1}}},
        numa={"cells": [{"id": 0, "group": "_numa0", "cpus": [0], "pcpus": [], "memory_mb": 64}]},
    )
    tracker = ResourceTracker([node("[compute]\nhosts = alpha\n")])
    assert (
        tracker.admit(intent("a", _={"VCPU": 1}), BuildRequirements.from_spec(spec))
        == f"node {NODE}: the node has no NUMA cells"
    )
    assert tracker.kind_reports(node("[compute]\nhosts = alpha\n")) == {}


def test_undecided_mapping_refuses_with_that_reason(caplog: pytest.LogCaptureFixture) -> None:
    """Given even amounts that must add up to two odd ones."""
    amounts = range(20, 60, 2)
    groups = {f"_{number}": {"resources": {NIC: amount}} for number, amount in enumerate(amounts)}
    spec = objects.RequestSpec.of(
        resources={},
        groups={"_numa0": {"resources": {"VCPU": 1}}, **groups},
        groups_policy="none",
        numa={"cells": [{"id": 0, "group": "_numa0", "cpus": [0], "pcpus": [], "memory_mb": 64}]},
    )
    nics = {
        "numa0": {"VCPU": 1, NIC: 194},
        "numa1": {NIC: 196},
        "numa0/0000:01:00.0": {NIC: 193},
        "numa1/0000:02:00.0": {NIC: 197},
    }
    tracker = ResourceTracker([node()])
    tracker.misfit = lambda allocations: None  # type: ignore[method-assign]  # no node has so many devices
    assert tracker.admit(intent("a", **nics), BuildRequirements.from_spec(spec)) == (
        f"node {NODE}: the providers of its request groups were not decided within the search budget"
    )
    assert not caplog.records
