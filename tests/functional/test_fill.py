# SPDX-License-Identifier: Apache-2.0
"""Requests of a real trace fill the cluster past its capacity: nothing is sold twice, every refusal is explained."""

import threading
from pathlib import Path

import pytest

from devstack import exercise, workload
from devstack.cluster import ClusterSize, Mode
from rpcapi import errors, objects
from tests.functional import clusters, truth
from tests.functional.clusters import Running

REQUESTS = 400
CALLERS = 8
TRACE = Path(__file__).resolve().parents[3] / "shared" / "traces" / "azure_2017_vm_requests.csv.gz"
# Twelve nodes hold about 1.6 TB of memory; the trace's first requests ask for 3.7 TB.
TIGHT = ClusterSize(computes=3, nodes_per_host=4, schedulers=4)


def requests() -> list[workload.WorkloadRequest]:
    """Return single-server requests: the trace's, or a generated mix where there is no trace."""
    grouped = workload.from_trace(TRACE, REQUESTS) if TRACE.exists() else workload.generate_requests(REQUESTS, seed=7)
    return [workload.WorkloadRequest(one.flavor, one.resources, 1) for one in grouped for _ in range(one.count)]


def boot_from_many(running: Running, wanted: list[workload.WorkloadRequest]) -> list[str]:
    """Ask for all of them from several callers at once; return the uuids."""
    uuids: list[str] = []

    def caller(share: list[workload.WorkloadRequest]) -> None:
        session = exercise.Session([str(running.cluster.client_conf)])
        uuids.extend(exercise.boot(session, share))
        session.close()

    callers = [threading.Thread(target=caller, args=(wanted[start::CALLERS],)) for start in range(CALLERS)]
    for thread in callers:
        thread.start()
    for thread in callers:
        thread.join()
    return uuids


def explained(running: Running, instance: objects.Instance) -> bool:
    """Tell whether the decision record says which hosts fell to what, or what the claim script answered."""
    document = running.session.call(running.session.scheduler.explain, instance.request_id).document
    fallen = sum(document["reasons"].values())
    tried = [verdict for told in document.get("verdicts", []) for _, verdict in told["tried"]]
    return document["outcome"] == "refused" and (fallen == document["hosts"] or bool(tried))


@pytest.mark.parametrize("mode", [Mode.EMBEDDED, pytest.param(Mode.STANDARD, marks=pytest.mark.long)])
def test_fill_past_capacity(mode):
    with clusters.running(clusters.on(mode, TIGHT)) as running:
        # When four workers are asked for more than there is, by many callers at once
        wanted = requests()
        uuids = boot_from_many(running, wanted)
        instances = truth.assert_sound(running, uuids)
        # Then accepted and refused make up what was asked, and both there are
        accepted = [instance for instance in instances if instance.status == "ACTIVE"]
        refused = [instance for instance in instances if instance.status == "ERROR"]
        assert len(accepted) + len(refused) == len(wanted) == REQUESTS
        assert accepted
        assert refused
        # And every refusal is for want of room, and explained
        for instance in refused:
            assert instance.reason.startswith("No valid host"), instance.reason
            assert explained(running, instance), instance.request_id
        with pytest.raises(errors.UnknownDecision):
            running.session.call(running.session.scheduler.explain, "req-00000000-0000-0000-0000-000000000000")
