# SPDX-License-Identifier: Apache-2.0
"""Calls of a batch, grouped by what they ask for."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

from scheduler_svc.core.drivers.driver import RankRequest
from scheduler_svc.core.request import SchedulingRequest

REASON_PARTS = "asks for parts of a host, or for more than a host"
REASON_SAME_GROUP = "another call of its affinity group is in the batch"


@dataclass(frozen=True, slots=True)
class IdenticalCalls:
    """Calls that differ only in their number of placements.

    Attributes:
        calls: Numbers of the calls in the batch.
        sizes: Placements of each call.
        unit: Instances of a placement: 1, or all instances of a call that must share a host.
    """

    request: SchedulingRequest
    seed: int
    calls: tuple[int, ...]
    sizes: tuple[int, ...]
    unit: int = 1

    @property
    def amounts(self) -> dict[str, int]:
        return {name: amount * self.unit for name, amount in self.request.resources.items()}


def is_whole(request: SchedulingRequest) -> bool:
    """Return whether root providers alone can serve a request: no parts of a host, no sharing providers."""
    return not (request.groups or request.numa or request.same_subtree or request.volumes or request.ports)


def group_identical(requests: Sequence[RankRequest]) -> tuple[list[IdenticalCalls], Counter[str]]:
    unbatched: Counter[str] = Counter()
    numbers_by_request: dict[str, list[int]] = {}
    affinity_groups: set[str] = set()
    for number, request in enumerate(rank_request.request for rank_request in requests):
        if not is_whole(request):
            unbatched[REASON_PARTS] += 1
        elif request.is_affinity and request.group is not None:
            if request.group.id in affinity_groups:
                unbatched[REASON_SAME_GROUP] += 1  # must use the host of the group's first call
            else:
                affinity_groups.add(request.group.id)
                numbers_by_request[f"call {number}"] = [number]
        else:
            numbers_by_request.setdefault(repr(replace(request, id="")), []).append(number)
    return [_identical_calls(requests, numbers) for numbers in numbers_by_request.values()], unbatched


def _identical_calls(requests: Sequence[RankRequest], numbers: Sequence[int]) -> IdenticalCalls:
    first, counts = requests[numbers[0]], tuple(requests[number].count for number in numbers)
    if first.request.is_affinity:
        return IdenticalCalls(first.request, first.seed, tuple(numbers), (1,), first.count)
    return IdenticalCalls(first.request, first.seed, tuple(numbers), counts)
