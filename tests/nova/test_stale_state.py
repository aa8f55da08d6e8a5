# SPDX-License-Identifier: Apache-2.0
"""Nova's databases away: gantt decides by the hosts as they were, says how old they are, and at last refuses."""

import json
import re
import time
import uuid
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import oslo_messaging as messaging
import pytest

from devstack.nova.client import wait_until
from tests.nova.actions import boot
from tests.nova.conftest import SIZE, compared, started_cloud
from tests.nova.known_hosts import HOSTS, documents
from tests.support.nova.checked_cloud import CheckedCloud
from tests.support.nova.nova_clouds import NovaClient, hosts_of, new_context, spec

pytestmark = pytest.mark.skipif(SIZE.scheduler != "gantt", reason="GANTT_NOVA_SCHEDULER is not gantt")

DOWN_TIME, PATIENCE = 30, 90  # seconds
OPTIONS = {"DEFAULT": {"service_down_time": str(DOWN_TIME), "report_interval": "5"}}
AGE = "gantt_nova_state_age_seconds"
FLUSH_SECONDS = 2.0  # the database loses what it did in the second before it is killed
PAUSE_SECONDS = 2.0
REFUSAL = re.compile(r"Nova's databases were last read (\d+) s ago")


@pytest.fixture(scope="module")
def running_cloud() -> Iterator[CheckedCloud]:
    """A cloud of two computes, which are down soon and whose state is refused soon."""
    with started_cloud(replace(SIZE, computes=2, bridge_max_age=PATIENCE, nova_options=OPTIONS)) as cloud:
        yield cloud


@pytest.fixture
def cloud(running_cloud: CheckedCloud) -> Iterator[CheckedCloud]:
    """The cloud without servers; all its services run again at the end."""
    with compared(running_cloud):
        yield running_cloud


@dataclass(frozen=True)
class Answer:
    """What gantt-scheduler answered on Nova's bus: a host, or why there is none."""

    request: str
    host: str
    refusal: str


class Caller:
    """Calls gantt-scheduler as a conductor does, and ends the claims that it makes: nova-api needs its database."""

    def __init__(self, cloud: CheckedCloud) -> None:
        self._cloud = cloud
        self._client = NovaClient(cloud.parts.urls.bus)

    def select(self, **fields: Any) -> Answer:
        """Return the answer for one instance; ``fields`` are of the RequestSpec."""
        context, consumer = new_context(), str(uuid.uuid4())
        try:
            ((host, *_),) = hosts_of(self._client.select(spec(**fields), [consumer], context))
        except messaging.RemoteError as refusal:
            return Answer(context["request_id"], "", str(refusal.value))
        self._cloud.placement.call("DELETE", f"/allocations/{consumer}")
        return Answer(context["request_id"], host, "")

    def close(self) -> None:
        """Disconnect."""
        self._client.transport.cleanup()


@pytest.fixture
def caller(cloud: CheckedCloud) -> Iterator[Caller]:
    calls = Caller(cloud)
    yield calls
    calls.close()


def ages(cloud: CheckedCloud) -> dict[str, float]:
    """Return how old the state was by the record of each decision, 0 while it was current."""
    lines = cloud.gantt("decision", "export").splitlines()
    records = [json.loads(line) for line in lines if line.startswith("{")]
    return {record["request_id"]: record["spec"].get("host_state_age_s", 0.0) for record in records}


def test_hosts_stay_as_they_were_until_the_patience_ends(cloud: CheckedCloud, caller: Caller) -> None:
    server = boot(cloud)
    time.sleep(FLUSH_SECONDS)
    before = documents(cloud, HOSTS)
    cloud.database.kill()
    try:
        wait_until(lambda: cloud.metric(AGE) > DOWN_TIME, "the state to be older than a compute may be")
        unfit = caller.select(ignore_hosts=cloud.size.hosts)
        answers = [caller.select()]
        while not answers[-1].refusal:
            time.sleep(PAUSE_SECONDS)
            answers.append(caller.select())
        refused = answers.pop()
        assert documents(cloud, HOSTS) == before
        _require_ages(cloud, answers, unfit)
        _require_refused_for_age(refused.refusal)
        assert caller.select().refusal
    finally:
        cloud.database.start()
    wait_until(lambda: cloud.metric(AGE) < DOWN_TIME, "the databases to be read again")
    wait_until(lambda: len(cloud.nova.hosts_up()) == cloud.size.computes, "all computes to be up")
    wait_until(lambda: caller.select().host, "a host")
    cloud.nova.wait_for([server, boot(cloud)], "ACTIVE")


def _require_ages(cloud: CheckedCloud, answers: list[Answer], unfit: Answer) -> None:
    """Require that decisions record the age, also that of a refusal, and that `gantt explain` shows it."""
    by_request = ages(cloud)
    assert all(answer.host in cloud.size.hosts for answer in answers)
    assert [by_request[answer.request] for answer in answers] == sorted(
        by_request[answer.request] for answer in answers
    )
    assert by_request[answers[0].request] > DOWN_TIME and by_request[answers[-1].request] <= PATIENCE
    assert by_request[unfit.request] > DOWN_TIME
    assert "s old" not in unfit.refusal, "that is the operators' matter"
    assert "host_state_age_s" in cloud.gantt("explain", unfit.request)


def _require_refused_for_age(refusal: str) -> None:
    match = REFUSAL.search(refusal)
    assert match is not None, refusal
    assert int(match[1]) >= PATIENCE
