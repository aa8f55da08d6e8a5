# SPDX-License-Identifier: Apache-2.0
"""Filter that restricts configured hosts to configured images: Nova's IsolatedHostsFilter."""

from collections.abc import Iterator

from scheduler_svc.core.matching.options import DEFAULTS, FilterOptions
from scheduler_svc.core.matching.predicate import Filter, HostPredicate
from scheduler_svc.core.request import SchedulingRequest
from scheduler_svc.core.table.view import View

NAME = "IsolatedHostsFilter"
REASON_OUTSIDE = "not a host for isolated images"
REASON_INSIDE = "host for isolated images"


def build(options: FilterOptions = DEFAULTS) -> Filter:
    def predicates(view: View, request: SchedulingRequest) -> Iterator[HostPredicate]:
        """Restrict isolated images to isolated hosts and, if configured, isolated hosts to isolated images."""
        if request.image.get("id") in options.isolated_images:
            yield HostPredicate(REASON_OUTSIDE, view.match_names(options.isolated_hosts))
        elif options.restrict_isolated_hosts and options.isolated_hosts:
            yield HostPredicate(REASON_INSIDE, ~view.match_names(options.isolated_hosts))

    return Filter(NAME, predicates, reasons=(REASON_OUTSIDE, REASON_INSIDE))
