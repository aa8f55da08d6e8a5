# SPDX-License-Identifier: Apache-2.0
"""Accepts every host: Nova's AllHostsFilter."""

from collections.abc import Iterable

from scheduler_svc.core.matching.predicate import Filter, HostPredicate
from scheduler_svc.core.request import SchedulingRequest
from scheduler_svc.core.table.view import View

NAME = "AllHostsFilter"


def predicates(view: View, request: SchedulingRequest) -> Iterable[HostPredicate]:
    """Return nothing: no host is rejected."""
    return ()


FILTER = Filter(NAME, predicates)
