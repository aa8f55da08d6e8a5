# SPDX-License-Identifier: Apache-2.0
"""Is the host on the physical networks and segments that the ports of its server are on?"""

from collections.abc import Iterator

from scheduler_svc.filters.sieve import Filter, Sieve
from scheduler_svc.request import Request
from scheduler_svc.table.view import View

NAME = "NetworkSegmentFilter"
REASON_PHYSNET = "not on physical network {}"
REASON_SEGMENT = "not on segment {}"
NAMESPACE = "network"
_WHERE = (("physnet", "physnets", REASON_PHYSNET), ("segment", "segments", REASON_SEGMENT))


def sieves(view: View, request: Request) -> Iterator[Sieve]:
    """Let hosts pass that the network service says are on all of them."""
    for asked, key, reason in _WHERE:
        for name in dict.fromkeys(port[asked] for port in request.ports if port.get(asked)):
            yield Sieve(reason.format(name), view.state_holds(NAMESPACE, key, name))


FILTER = Filter(NAME, sieves, {NAMESPACE: frozenset({"physnets", "segments"})})
