# SPDX-License-Identifier: Apache-2.0
"""A conductor is killed at each saga step: each boot still ends as ACTIVE or ERROR, and no claim leaks."""

import uuid

import pytest

from devstack import workload
from tests.support.clusters import truth
from tests.support.clusters.booting import TINY

STORE = "conductor.store.redis:RedisConductorStore"
SELECT = "rpcapi.clients.scheduler:SchedulerAPI.select_destinations"
CAST = "rpcapi.clients.compute:ComputeAPI.build_instances"

STEPS = [
    pytest.param(f"{STORE}.record", "before", 1, id="before the request is recorded"),
    pytest.param(f"{STORE}.record", "after", 1, id="after the request is recorded"),
    pytest.param(SELECT, "before", 1, id="before the select"),
    pytest.param(SELECT, "after", 1, id="after the select, unwritten"),
    pytest.param(f"{STORE}.write", "after", 1, id="after the selection is written"),
    pytest.param(CAST, "before", 1, id="before the cast"),
    pytest.param(CAST, "after", 1, id="after the first cast"),
    pytest.param(f"{STORE}.write_without_lease", "before", 1, id="before a report is written"),
    pytest.param(f"{STORE}.write_without_lease", "after", 1, id="after a report is written"),
    pytest.param(f"{STORE}.release", "before", 1, id="before the lease is released"),
]


@pytest.mark.sampled
@pytest.mark.parametrize(("target", "when", "nth"), STEPS)
def test_boot(cluster, rigged, target, when, nth):
    # Given a conductor that dies at this step
    met = rigged("conductor", target, when=when, nth=nth)
    session = cluster.session
    # When servers are requested, and the call is repeated until it is answered: the same call is the same request
    uuids = [str(uuid.uuid4()) for _ in range(4)]
    spec = workload.WorkloadRequest("tiny", TINY, 4).spec()
    session.new_request()
    truth.until("the request is accepted", lambda: session.call(session.conductor.build_instances, spec, uuids) or True)
    truth.until("the conductor died", met.exists)
    # Then all servers are ACTIVE: only a conductor was lost
    instances = truth.assert_consistent(cluster, uuids)
    assert {instance.status for instance in instances} == {"ACTIVE"}
