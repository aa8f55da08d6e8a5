# SPDX-License-Identifier: Apache-2.0
"""Guests with pinned CPUs: the cells of a host that are claimed."""

import pytest

from rpcapi import errors
from rpcapi.resources.groups import RequestGroup
from tests.support.scheduler.hosts import node, request
from tests.support.scheduler.schedulers import HostPartition, allocations_by_consumer, select, selection_call


def celled(host, pinned):
    """Return a node with two cells of two cores each, with the CPUs of ``pinned`` in use."""
    state = [
        {
            **{"id": number, "path": f"numa{number}", "socket": number, "cores": [[4 * number], [4 * number + 1]]},
            **{"shared": "", "threads": 1, "pinned": pinned[number], "pages": {}},
        }
        for number in range(2)
    ]
    cell = node({"PCPU": 2, "MEMORY_MB": 8192}) | {"parent": host}
    return {host: node({"DISK_GB": 100}) | {"numa": state}, f"{host}/numa0": cell, f"{host}/numa1": cell}


def pinned_guest(cpus):
    cells = [{"id": 0, "group": "_numa0", "cpus": list(range(cpus)), "pcpus": list(range(cpus)), "memory_mb": 64}]
    numa = {"cells": cells, "cpu_policy": "dedicated", "thread_policy": "isolate", "page_size_kb": None}
    group = RequestGroup("_numa0", {"PCPU": cpus, "MEMORY_MB": 64})
    return request({"DISK_GB": 1}, groups=(group,), groups_policy="none", numa=numa)


def test_host_that_cannot_pin_the_guest_is_not_claimed():
    """A cell whose claims leave capacity, but whose reported cores do not, is not used: another cell is, or none.

    The host reports a core of its first cell as permanently gone, which no inventory shows.
    """
    nodes = celled("a", ["", ""])
    nodes["a"]["numa"][0]["cores"] = [[0]]
    partition = HostPartition(nodes)
    scheduler, _ = partition.scheduler()
    select(scheduler, selection_call(scheduling_request=pinned_guest(2)))
    assert allocations_by_consumer(partition) == {
        "vm-0": {"a": {"DISK_GB": 1}, "a/numa1": {"PCPU": 2, "MEMORY_MB": 64}}
    }
    with pytest.raises(errors.NoValidHost, match="1 no provider tree fits"):
        select(partition.scheduler()[0], selection_call(first=1, scheduling_request=pinned_guest(2)))
    select(partition.scheduler()[0], selection_call(first=2, scheduling_request=pinned_guest(1)))
    assert allocations_by_consumer(partition)["vm-2"]["a/numa0"] == {"PCPU": 1, "MEMORY_MB": 64}


def test_instances_of_a_call_are_pinned_to_different_cpus():
    partition = HostPartition(celled("a", ["", ""]) | celled("b", ["0", ""]))
    scheduler, _ = partition.scheduler()
    select(scheduler, selection_call(4, scheduling_request=pinned_guest(1)))
    select(partition.scheduler()[0], selection_call(2, first=4, scheduling_request=pinned_guest(2)))
    cells = [
        (name, amounts["PCPU"])
        for allocations in allocations_by_consumer(partition).values()
        for name, amounts in allocations.items()
        if "PCPU" in amounts
    ]
    sums = {name: sum(amount for provider, amount in cells if provider == name) for name, _ in cells}
    assert len(cells) == 6
    assert all(amount <= 2 for amount in sums.values())
