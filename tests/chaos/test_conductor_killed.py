# SPDX-License-Identifier: Apache-2.0
"""A conductor killed at each saga step: whoever goes on ends each boot as ACTIVE or ERROR, and leaks no claim."""

import uuid

import pytest

from devstack import workload
from tests.chaos.test_agent_killed import TINY
from tests.functional import truth

STORE = "conductor.store.redis:RedisStore"
SELECT = "rpcapi.scheduler:SchedulerAPI.select_destinations"
CAST = "rpcapi.compute:ComputeAPI.build_instances"

# The short form is where most can go wrong: something was done that nobody has written down.
STEPS = [
    pytest.param(f"{STORE}.record", "before", 1, id="before the request is recorded", marks=pytest.mark.long),
    pytest.param(f"{STORE}.record", "after", 1, id="after the request is recorded", marks=pytest.mark.long),
    pytest.param(SELECT, "before", 1, id="before the select", marks=pytest.mark.long),
    pytest.param(SELECT, "after", 1, id="after the select, unwritten"),
    pytest.param(f"{STORE}.write", "after", 1, id="after the selection is written", marks=pytest.mark.long),
    pytest.param(CAST, "before", 1, id="before the cast", marks=pytest.mark.long),
    pytest.param(CAST, "after", 1, id="after the first cast"),
    pytest.param(f"{STORE}.note", "before", 1, id="before a report is written"),
    pytest.param(f"{STORE}.note", "after", 1, id="after a report is written", marks=pytest.mark.long),
    pytest.param(f"{STORE}.release", "before", 1, id="before the lease is let go", marks=pytest.mark.long),
]


@pytest.mark.parametrize(("target", "when", "nth"), STEPS)
def test_boot(cluster, rigged, target, when, nth):
    # Given a conductor that dies at this step
    met = rigged("conductor", target, when=when, nth=nth)
    session = cluster.session
    # When servers are asked for, and asked for again while no answer comes: the same call is the same request
    uuids = [str(uuid.uuid4()) for _ in range(4)]
    spec = workload.WorkloadRequest("tiny", TINY, 4).spec()
    session.new_request()
    truth.until("the request is taken", lambda: session.call(session.conductor.build_instances, spec, uuids) or True)
    truth.until("the conductor met its end", met.exists)
    # Then all end well: nothing but a conductor was lost
    instances = truth.assert_sound(cluster, uuids)
    assert {instance.status for instance in instances} == {"ACTIVE"}
