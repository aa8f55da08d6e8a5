# SPDX-License-Identifier: Apache-2.0
"""Is the host in a partition whose store answers?"""

from collections.abc import Iterator

import numpy as np

from rpcapi.model.claims import PARTITION_AWAY
from scheduler_svc.filters.sieve import Filter, Sieve
from scheduler_svc.request import Request
from scheduler_svc.table.view import View

NAME = "PartitionFilter"  # of no configuration
REASON = PARTITION_AWAY


def sieves(view: View, request: Request) -> Iterator[Sieve]:
    """Let hosts pass in whose partition something can be claimed now."""
    if request.away:
        yield Sieve(REASON, ~np.logical_or.reduce([view.within(name) for name in request.away]))


FILTER = Filter(NAME, sieves)
