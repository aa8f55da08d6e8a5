# SPDX-License-Identifier: Apache-2.0
"""Requests of a real trace fill the cluster past its capacity: no overcommit, and every refusal is explained."""

import dataclasses
import threading

import pytest

from devstack import exercise, workload
from devstack.cluster_size import ClusterSize, Mode
from rpcapi import errors, objects
from tests.support.clusters import clusters, truth
from tests.support.clusters.clusters import RunningCluster
from tests.support.clusters.fill import REQUESTS, requests

CALLERS = 8
# Twelve nodes hold about 1.6 TB of memory; the trace's first requests ask for 3.7 TB.
TIGHT = ClusterSize(computes=3, nodes_per_host=4, schedulers=4)
SHORT = dataclasses.replace(TIGHT, computes=1)  # a third of it, for a third of the requests


def boot_from_many(running: RunningCluster, workload_requests: list[workload.WorkloadRequest]) -> list[str]:
    """Boot all requests from several concurrent callers; return the uuids."""
    uuids: list[str] = []

    def caller(share: list[workload.WorkloadRequest]) -> None:
        session = exercise.Session([str(running.cluster.client_conf)])
        uuids.extend(exercise.boot(session, share))
        session.close()

    callers = [threading.Thread(target=caller, args=(workload_requests[start::CALLERS],)) for start in range(CALLERS)]
    for thread in callers:
        thread.start()
    for thread in callers:
        thread.join()
    return uuids


def explained(running: RunningCluster, instance: objects.Instance) -> bool:
    """Return whether the decision record has the reason of every rejected host, or verdicts of the claim script."""
    document = running.session.call(running.session.scheduler.explain, instance.request_id).document
    fallen = sum(document["reasons"].values())
    tried = [verdict for verdict_record in document.get("verdicts", []) for _, verdict in verdict_record["tried"]]
    return document["outcome"] == "refused" and (fallen == document["hosts"] or bool(tried))


@pytest.mark.timeout(1800)  # against a hang: how long the boots take depends on the machine
@pytest.mark.parametrize(
    ("mode", "size", "request_count"),
    [
        pytest.param(Mode.EMBEDDED, SHORT, REQUESTS // 3, id="short"),
        pytest.param(Mode.EMBEDDED, TIGHT, REQUESTS, id="embedded", marks=pytest.mark.long),
        pytest.param(Mode.STANDARD, TIGHT, REQUESTS, id="standard", marks=pytest.mark.long),
    ],
)
def test_fill_past_capacity(mode, size, request_count):
    with clusters.running_cluster(clusters.with_mode(mode, size)) as running:
        # When many concurrent callers request more than the capacity from four workers
        workload_requests = requests()[:request_count]
        uuids = boot_from_many(running, workload_requests)
        instances = truth.assert_consistent(running, uuids)
        # Then every request is accepted or refused, and there are some of both
        accepted = [instance for instance in instances if instance.status == "ACTIVE"]
        refused = [instance for instance in instances if instance.status == "ERROR"]
        assert len(accepted) + len(refused) == len(workload_requests) == request_count
        assert accepted
        assert refused
        # And every refusal is for lack of capacity, and explained
        for instance in refused:
            assert instance.reason.startswith("No valid host"), instance.reason
            assert explained(running, instance), instance.request_id
        with pytest.raises(errors.UnknownDecision):
            running.session.call(running.session.scheduler.explain, "req-00000000-0000-0000-0000-000000000000")
