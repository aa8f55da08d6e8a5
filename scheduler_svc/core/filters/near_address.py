# SPDX-License-Identifier: Apache-2.0
"""Filter that rejects hosts outside the network of the scheduler hints: Nova's SimpleCIDRAffinityFilter."""

import ipaddress
from collections.abc import Iterator

from rpcapi.validation.hints import DEFAULT_CIDR, single_value
from scheduler_svc.core.matching.predicate import Filter, HostPredicate
from scheduler_svc.core.request import SchedulingRequest
from scheduler_svc.core.table.view import View

NAME = "SimpleCIDRAffinityFilter"
ADDRESS = "build_near_host_ip"
LENGTH = "cidr"
REASON = "not near {}"


def predicates(view: View, request: SchedulingRequest) -> Iterator[HostPredicate]:
    address = single_value(request.hints.get(ADDRESS))
    if address:
        network = ipaddress.ip_network(address + single_value(request.hints.get(LENGTH, DEFAULT_CIDR)), strict=False)
        yield HostPredicate(REASON.format(network), view.in_network(network))


FILTER = Filter(NAME, predicates, {"compute": frozenset({"host_ip"})}, reasons=(REASON,))
