# SPDX-License-Identifier: Apache-2.0
"""Allocations of Nova's instances, with the providers of each request group."""

from rpcapi.resources.groups import RequestGroup
from scheduler_svc.nova.bus.allocations import AllocationReader
from scheduler_svc.nova.bus.hosts import NovaHost
from tests.support.scheduler.hosts import child_provider, node, request, table

GPU = "CUSTOM_GPU"


def test_claim_takes_as_many_steps_to_match_as_the_scheduler_may_take():
    """Given amounts whose providers take thousands of steps to find."""
    amounts = [5 * number**2 % 41 + 20 for number in range(12)]
    groups = tuple(RequestGroup(f"_{number}", {GPU: amount}) for number, amount in enumerate(amounts))
    allocations = {f"a/gpu{number}": {GPU: sum(amounts[number::4])} for number in range(4)}
    nodes = {"a": node()} | {name: child_provider("a", "a", resources) for name, resources in allocations.items()}
    with table(nodes).reading() as view:
        reader = AllocationReader(view, request({}, groups=groups, groups_policy="none"))
        candidate = reader.claimed(NovaHost(view.row("a"), "a", "a", "a", "cell1", None), allocations)
    assert candidate.providers.keys() >= {group.suffix for group in groups}
