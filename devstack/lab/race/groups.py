# SPDX-License-Identifier: Apache-2.0
"""Server groups in a race: which servers are members, and whether the policies hold at the end."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from devstack.lab.hosts import ServerRequest
from rpcapi.resources.claims import GroupPolicy
from scheduler_svc.core.records import Amounts, Claim, ClaimGroup

GROUP_SIZE = 4
POLICIES = (GroupPolicy.ANTI_AFFINITY, GroupPolicy.AFFINITY)  # used alternately
DISK_GB = 1  # extra disk of members: the others' amounts are even, so that the log of sums shows which are members


def with_groups(servers: Sequence[ServerRequest], share: float) -> list[ServerRequest]:
    """Return the servers with about ``share`` of them in groups of consecutive ones, for which workers race."""
    grouped = list(servers)
    firsts = range(0, len(servers) - GROUP_SIZE + 1, int(GROUP_SIZE / share)) if share else ()
    for number, first in enumerate(firsts):
        group = ClaimGroup(f"group-{number}", POLICIES[number % len(POLICIES)])
        for index in range(first, first + GROUP_SIZE):
            request = servers[index].request
            amounts = {**request.resources, "DISK_GB": request.resources["DISK_GB"] + DISK_GB}
            grouped[index] = replace(servers[index], request=replace(request, resources=amounts, group=group))
    return grouped


def is_member(amounts: Amounts) -> bool:
    return amounts.get("DISK_GB", 0) % 2 == 1


def members_by_host(claims: Iterable[Claim]) -> Mapping[ClaimGroup, Counter[str]]:
    groups: dict[ClaimGroup, Counter[str]] = defaultdict(Counter)
    for claim in claims:
        if claim.group is not None:
            groups[claim.group][claim.host] += 1
    return groups


def count_violations(groups: Mapping[ClaimGroup, Mapping[str, int]]) -> int:
    return sum(_is_violated(group, members) for group, members in groups.items())


def _is_violated(group: ClaimGroup, members: Mapping[str, int]) -> bool:
    if group.policy is GroupPolicy.AFFINITY:
        return len(members) > 1
    return max(members.values()) > group.max_per_host
