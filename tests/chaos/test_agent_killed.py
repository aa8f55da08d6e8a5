# SPDX-License-Identifier: Apache-2.0
"""An agent is killed at each journal step: confirmed builds complete, all others leave nothing behind."""

import pytest

from devstack import exercise, workload
from tests.support.clusters import truth
from tests.support.clusters.booting import TINY

APPEND = "compute_agent.attempts.journal_file:JournalFile.append"
SPAWN = "compute_agent.simulator.hypervisor:Hypervisor.spawn"
CONFIRM = "rpcapi.clients.claims:ClaimsAPI.confirm_claims"
REPORT = "rpcapi.clients.conductor:ConductorAPI.report_builds"
STOP = "compute_agent.simulator.hypervisor:Hypervisor.stop"
RELEASE = "rpcapi.clients.claims:ClaimsAPI.release_claims"

BOOT_STEPS = [
    pytest.param(APPEND, "before", 1, id="before the intent is written"),
    pytest.param(APPEND, "after", 1, id="after the intent is written"),
    pytest.param(CONFIRM, "after", 1, id="after the confirm, unwritten"),
    pytest.param(APPEND, "after", 2, id="after the confirm is written"),
    pytest.param(SPAWN, "after", 1, id="after the spawn, unwritten"),
    pytest.param(APPEND, "after", 3, id="after the spawn is written"),
    pytest.param(REPORT, "after", 1, id="after the report, unwritten"),
]
DELETE_STEPS = [
    pytest.param(STOP, "before", 1, id="before the guest is stopped"),
    pytest.param(STOP, "after", 1, id="after the guest is stopped"),
    pytest.param(APPEND, "after", 1, id="after the end is written"),
    pytest.param(RELEASE, "after", 1, id="after the release, unwritten"),
    pytest.param(REPORT, "after", 1, id="after the report, unwritten"),
]


@pytest.mark.sampled
@pytest.mark.parametrize(("target", "when", "nth"), BOOT_STEPS)
def test_boot(cluster, rigged, target, when, nth):
    # Given an agent that dies at this step
    met = rigged("compute", target, when=when, nth=nth)
    # When servers are booted on it
    uuids = exercise.boot(cluster.session, [workload.WorkloadRequest("tiny", TINY, 4)])
    truth.until("the agent died", met.exists)
    # Then each is ACTIVE under a claim with one guest, or in ERROR with a reason and nothing left
    instances = truth.assert_consistent(cluster, uuids)
    assert len(instances) == 4


@pytest.mark.sampled
@pytest.mark.parametrize(("target", "when", "nth"), DELETE_STEPS)
def test_delete(cluster, rigged, target, when, nth):
    # Given running servers, and an agent that dies at this step of their deletion
    uuids = exercise.boot(cluster.session, [workload.WorkloadRequest("tiny", TINY, 2)])
    assert all(instance.status == "ACTIVE" for instance in truth.assert_consistent(cluster, uuids))
    met = rigged("compute", target, when=when, nth=nth)
    # When they are deleted
    cluster.session.call(cluster.session.conductor.delete_instances, uuids)
    truth.until("the agent died", met.exists)
    # Then no guest, no claim and no wrong sum is left
    truth.until("all deleted", lambda: all(i.status == "DELETED" for i in truth.records(cluster, uuids)))
    truth.until("no claim is left", lambda: not {key for key in truth.claims(cluster) if key[0] in uuids})
    assert not {key for key in truth.guests(cluster) if key[0] in uuids}
    assert cluster.session.call(cluster.session.claims.verify).clean
