# SPDX-License-Identifier: Apache-2.0
"""Is the host's address in the network of the hints? Nova's SimpleCIDRAffinityFilter."""

import ipaddress
from collections.abc import Iterator

from rpcapi.model.checks.hints import DEFAULT_CIDR, first
from scheduler_svc.filters.sieve import Filter, Sieve
from scheduler_svc.request import Request
from scheduler_svc.table.view import View

NAME = "SimpleCIDRAffinityFilter"
ADDRESS = "build_near_host_ip"
LENGTH = "cidr"
REASON = "not near {}"


def sieves(view: View, request: Request) -> Iterator[Sieve]:
    """Let hosts pass whose address is near the hint's; what is no network was refused at the way in."""
    address = first(request.hints.get(ADDRESS))
    if address:
        network = ipaddress.ip_network(address + first(request.hints.get(LENGTH, DEFAULT_CIDR)), strict=False)
        yield Sieve(REASON.format(network), view.within_network(network))


FILTER = Filter(NAME, sieves, {"compute": frozenset({"host_ip"})})
