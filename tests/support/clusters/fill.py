# SPDX-License-Identifier: Apache-2.0
"""Requests for single servers, from a trace or generated."""

import random

from devstack import workload
from tests.support import CHECKOUT

REQUESTS = 400
TRACE = CHECKOUT.parent / "shared" / "traces" / "azure_2017_vm_requests.csv.gz"


def generate_requests(servers: int, seed: int) -> list[workload.WorkloadRequest]:
    """Return random requests that resemble a trace: mostly small servers, in tenant batches."""
    chance = random.Random(seed)
    requests: list[workload.WorkloadRequest] = []
    remaining = servers
    while remaining:
        count = min(remaining, chance.choices((1, 2, 5, 20), weights=(70, 15, 10, 5))[0])
        vcpus = chance.choices((1, 2, 4, 8), weights=(45, 30, 15, 10))[0]
        memory = round(vcpus * chance.choice((1.75, 3.5, 7)) * workload.MIB_PER_GB)
        requests.append(
            workload.WorkloadRequest(f"generated-{len(requests)}", {"VCPU": vcpus, "MEMORY_MB": memory}, count)
        )
        remaining -= count
    return requests


def requests() -> list[workload.WorkloadRequest]:
    """Return single-server requests of the trace, or a generated mix without a trace."""
    grouped = workload.from_trace(TRACE, REQUESTS) if TRACE.exists() else generate_requests(REQUESTS, seed=7)
    return [
        workload.WorkloadRequest(grouped_request.flavor, grouped_request.resources, 1)
        for grouped_request in grouped
        for _ in range(grouped_request.count)
    ]
