# SPDX-License-Identifier: Apache-2.0
"""Two servers that tests migrate and resize."""

from conductor.saga.step_context import SagaLimits
from tests.support.conductor.simulated_cluster import LIMITS, SimulatedCluster, uuid_list

UUIDS = uuid_list(2)
NODES = {"h1/n": 4, "h2/n": 4, "h3/n": 4}
HOUR_MS = 3_600_000


def make_cluster(limits: SagaLimits = LIMITS) -> SimulatedCluster:
    """Return a cluster with two ACTIVE instances, on h1 and h2."""
    created = SimulatedCluster(NODES, limits)
    created.conductor()
    created.build(UUIDS)
    created.settle()
    assert [created.record(uuid).host for uuid in UUIDS] == ["h1/n", "h2/n"]
    return created
