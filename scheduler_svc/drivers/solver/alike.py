# SPDX-License-Identifier: Apache-2.0
"""Which calls of a batch ask for the same, and which ask for what a problem of integers does not hold."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

from scheduler_svc.drivers.driver import Wanted
from scheduler_svc.request import Request

PARTS = "asks for parts of a host, or for more than a host"
GROUP_AGAIN = "another call of its affinity group is in the batch"


@dataclass(frozen=True, slots=True)
class Alike:
    """Calls, by their numbers in the batch, that differ in nothing but how many placements (``sizes``) they want.

    ``unit`` is how many instances one placement holds: 1, or all of a call whose instances stay together.
    """

    request: Request
    seed: int
    calls: tuple[int, ...]
    sizes: tuple[int, ...]
    unit: int = 1

    @property
    def amounts(self) -> dict[str, int]:
        """What one placement takes, by resource class."""
        return {name: amount * self.unit for name, amount in self.request.resources.items()}


def is_whole(request: Request) -> bool:
    """Tell whether a request takes amounts of whole hosts, and nothing of others."""
    return not (request.groups or request.numa or request.same_subtree or request.volumes or request.ports)


def sort(wanted: Sequence[Wanted]) -> tuple[list[Alike], Counter[str]]:
    """Return the calls that can be placed together, sorted by what they ask for, and count the others by reason."""
    left: Counter[str] = Counter()
    found: dict[str, list[int]] = {}
    gathered: set[str] = set()
    for number, request in enumerate(each.request for each in wanted):
        if not is_whole(request):
            left[PARTS] += 1
        elif request.together and request.group is not None:
            if request.group.id in gathered:
                left[GROUP_AGAIN] += 1  # it must go where the first goes, which is not known yet
            else:
                gathered.add(request.group.id)
                found[f"call {number}"] = [number]
        else:
            found.setdefault(repr(replace(request, id="")), []).append(number)
    return [_alike(wanted, numbers) for numbers in found.values()], left


def _alike(wanted: Sequence[Wanted], numbers: Sequence[int]) -> Alike:
    first, counts = wanted[numbers[0]], tuple(wanted[number].count for number in numbers)
    if first.request.together:
        return Alike(first.request, first.seed, tuple(numbers), (1,), first.count)
    return Alike(first.request, first.seed, tuple(numbers), counts)
