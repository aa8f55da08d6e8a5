# SPDX-License-Identifier: Apache-2.0
"""A decision comes to a host that fits, although the searches on hosts that rank better find nothing.

The searches of one decision share a budget of steps, so that a few hard ones left none for the others.
"""

from rpcapi import errors
from rpcapi.resources.groups import RequestGroup
from scheduler_svc.core.trees import finder
from tests.support.scheduler.hosts import node, request
from tests.support.scheduler.schedulers import HostPartition, select, selection_call

LICENCES = "CUSTOM_LICENCES"
HARD_HOSTS = finder.MAX_DECISION_STEPS // finder.MAX_STEPS + 1
BINS = 7
# Two groups never share a provider, and all differ. So all orders are tried until one group remains.
GROUPS = tuple(RequestGroup(f"_{number}", {LICENCES: 51 + number}) for number in range(BINS + 1))


def host_with_bins(name: str, bins: int, vcpus: int) -> dict[str, object]:
    """Return a host with providers that have room for one group each."""
    providers = {f"{name}/{number}": node({LICENCES: 95 + number}) | {"parent": name} for number in range(bins)}
    return {name: node({"VCPU": vcpus})} | providers


def place(hard_hosts: int) -> str | None:
    """Return the host of a server if its only fitting host ranks after ``hard_hosts`` other hosts."""
    nodes = host_with_bins("fits", BINS + 1, 2)
    for number in range(hard_hosts):
        nodes |= host_with_bins(f"hard{number}", BINS, 64)
    scheduler, _ = HostPartition(nodes).scheduler()
    grouped = request({"VCPU": 1}, groups=GROUPS, groups_policy="none")
    try:
        (prepared,) = select(scheduler, selection_call(scheduling_request=grouped)).prepared
    except errors.NoValidHost:
        return None
    return prepared.host


def test_one_hard_search_leaves_steps() -> None:
    assert place(1) == "fits"


def test_many_hard_searches_leave_steps() -> None:
    assert place(HARD_HOSTS) == "fits"
