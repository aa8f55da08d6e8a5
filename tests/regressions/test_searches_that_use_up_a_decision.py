# SPDX-License-Identifier: Apache-2.0
"""A decision comes to a host that fits, although the searches on hosts that rank better find nothing.

The searches of one decision shared a budget of steps, so that a few hard ones left none for the others.
"""

import pytest

from rpcapi import errors
from rpcapi.resources.groups import RequestGroup
from rpcapi.resources.trees.search import MAX_STEPS, NoCandidateReason
from scheduler_svc.core.trees import finder
from tests.support.scheduler.hosts import node, request
from tests.support.scheduler.schedulers import HostPartition, select, selection_call

LICENCES = "CUSTOM_LICENCES"
HARD_HOSTS = finder.COMMON_STEPS // MAX_STEPS + 1
# Five providers of 163 have room for the sum of these even amounts, 812. Each provider can use 162 only, but no sum
# shows it, so that all combinations are tried.
AMOUNTS = (*range(40, 68, 2), 70)
BINS, CAPACITY = 5, 163
GROUPS = tuple(RequestGroup(f"_{number}", {LICENCES: amount}) for number, amount in enumerate(AMOUNTS))


def host_with_bins(name: str, bins: int, vcpus: int) -> dict[str, object]:
    providers = {f"{name}/{number}": node({LICENCES: CAPACITY}) | {"parent": name} for number in range(bins)}
    return {name: node({"VCPU": vcpus})} | providers


def decide(hard_hosts: int, bins: int) -> tuple[str | None, dict[str, int]]:
    """Return the host of a server if its only fitting host ranks after ``hard_hosts`` others, and the reasons."""
    nodes = host_with_bins("fits", bins, 2)
    for number in range(hard_hosts):
        nodes |= host_with_bins(f"hard{number}", BINS, 64)
    partition = HostPartition(nodes)
    scheduler, _ = partition.scheduler()
    grouped = request({"VCPU": 1}, groups=GROUPS, groups_policy="none")
    host = None
    try:
        (prepared,) = select(scheduler, selection_call(scheduling_request=grouped)).prepared
        host = prepared.host
    except errors.NoValidHost:
        pass
    return host, partition.store.find_decision("req-1")["reasons"]


@pytest.mark.parametrize("hard_hosts", [1, HARD_HOSTS, finder.RESERVED_STEPS // finder.FIRST_STEPS])
def test_hard_searches_leave_steps_for_other_hosts(hard_hosts: int) -> None:
    assert decide(hard_hosts, BINS + 1) == ("fits", {NoCandidateReason.UNDECIDED: hard_hosts})


def test_undecided_host_is_no_refusal() -> None:
    assert decide(1, 1) == (None, {NoCandidateReason.UNDECIDED: 1, NoCandidateReason.NONE: 1})
