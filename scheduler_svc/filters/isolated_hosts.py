# SPDX-License-Identifier: Apache-2.0
"""Is the host set aside for some images, and is the request's image one of them? Nova's IsolatedHostsFilter."""

from collections.abc import Iterator

from scheduler_svc.filters.options import DEFAULTS, Options
from scheduler_svc.filters.sieve import Filter, Sieve
from scheduler_svc.request import Request
from scheduler_svc.table.view import View

NAME = "IsolatedHostsFilter"
REASON_OUTSIDE = "not a host for isolated images"
REASON_INSIDE = "host for isolated images"


def build(options: Options = DEFAULTS) -> Filter:
    """Return the filter for the isolated images and hosts of ``options``."""

    def sieves(view: View, request: Request) -> Iterator[Sieve]:
        """Let an isolated image onto isolated hosts alone; where they are restricted, nothing else onto these."""
        if request.image.get("id") in options.isolated_images:
            yield Sieve(REASON_OUTSIDE, view.named(options.isolated_hosts))
        elif options.restrict_isolated_hosts and options.isolated_hosts:
            yield Sieve(REASON_INSIDE, ~view.named(options.isolated_hosts))

    return Filter(NAME, sieves)
