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

STEPS = [
    ("before the request is recorded", f"{STORE}.record", "before", 1),
    ("after the request is recorded", f"{STORE}.record", "after", 1),
    ("before the select", SELECT, "before", 1),
    ("after the select, unwritten", SELECT, "after", 1),
    ("after the selection is written", f"{STORE}.write", "after", 1),
    ("before the cast", CAST, "before", 1),
    ("after the first cast", CAST, "after", 1),
    ("before a report is written", f"{STORE}.note", "before", 1),
    ("after a report is written", f"{STORE}.note", "after", 1),
    ("before the lease is let go", f"{STORE}.release", "before", 1),
]


@pytest.mark.parametrize(("target", "when", "nth"), [step[1:] for step in STEPS], ids=[step[0] for step in STEPS])
def test_boot(cluster, rigged, target, when, nth):
    # Given a conductor that dies at this step
    met = rigged("conductor", target, when=when, nth=nth)
    session = cluster.session
    # When servers are asked for, and asked for again while no answer comes: the same call is the same request
    uuids = [str(uuid.uuid4()) for _ in range(4)]
    spec = workload.Request("tiny", TINY, 4).spec()
    session.new_request()
    truth.until("the request is taken", lambda: session.ask(session.conductor.build_instances, spec, uuids) or True)
    truth.until("the conductor met its end", met.exists)
    # Then all end well: nothing but a conductor was lost
    instances = truth.assert_sound(cluster, uuids)
    assert {instance.status for instance in instances} == {"ACTIVE"}
