# SPDX-License-Identifier: Apache-2.0
"""Requests for single servers, from a trace or generated."""

from devstack import workload
from tests.support import CHECKOUT

REQUESTS = 400
TRACE = CHECKOUT.parent / "shared" / "traces" / "azure_2017_vm_requests.csv.gz"


def requests() -> list[workload.WorkloadRequest]:
    """Return single-server requests of the trace, or a generated mix without a trace."""
    grouped = workload.from_trace(TRACE, REQUESTS) if TRACE.exists() else workload.generate_requests(REQUESTS, seed=7)
    return [
        workload.WorkloadRequest(grouped_request.flavor, grouped_request.resources, 1)
        for grouped_request in grouped
        for _ in range(grouped_request.count)
    ]
