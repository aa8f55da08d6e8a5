# SPDX-License-Identifier: Apache-2.0
"""The largest request through all processes: one claim script, one agent, and worker deaths in between."""

import uuid

from tqdm import tqdm

from devstack import exercise
from devstack.cluster_size import ClusterSize
from rpcapi import objects
from rpcapi.resources.claims import MAX_INSTANCES
from tests.support.clusters import clusters, truth
from tests.support.clusters.booting import SERVER_RESOURCES

ONE_AGENT = ClusterSize(computes=1, nodes_per_host=40, schedulers=2)


def test_largest_request_is_built_by_one_agent_although_workers_die():
    with clusters.running_cluster(ONE_AGENT) as running:
        session = running.session
        uuids = [str(uuid.uuid4()) for _ in range(MAX_INSTANCES)]
        spec = objects.RequestSpec.of(flavor="m1.tiny", resources=SERVER_RESOURCES)
        session.call(session.conductor.build_instances, spec, uuids)
        clusters.restart(running, "scheduler")
        exercise.wait_for_servers(session, uuids, 240, tqdm(disable=True))
        instances = truth.assert_consistent(running, uuids)
        assert {instance.status for instance in instances} == {"ACTIVE"}
        # All of them, by one attempt: they were selected and, if need be, selected again together.
        assert len({instance.attempt for instance in instances}) == 1
