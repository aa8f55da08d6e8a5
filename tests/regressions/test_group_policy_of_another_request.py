# SPDX-License-Identifier: Apache-2.0
"""A server group keeps the policy and the maximum that it was made with, and belongs to one project.

As in Nova, a group is made once: no request changes its rule, and no other project can name it. Nova's own requests
bring the policy of Nova's group.
"""

import uuid
from collections.abc import Iterator
from types import SimpleNamespace

import pytest

from conductor.requests import builds
from conductor.store.memory import MemoryConductorStore
from rpcapi import context, errors, objects
from tests.support.conductor.conductors import make_conductor
from tests.support.scheduler.hosts import SMALL_REQUEST
from tests.support.scheduler.workers import FakeTransportWorker, node_report

HOSTS = ("h1", "h2", "h3")
OWNER, STRANGER = "owner", "stranger"
GROUPS = {"web": "anti-affinity", "db": "affinity", "queue": "anti-affinity"}


class Boots:
    """Boots that a conductor admits and a scheduler worker places, without agents."""

    def __init__(self, worker: FakeTransportWorker) -> None:
        self._worker = worker
        self._parts = make_conductor(MemoryConductorStore(), SimpleNamespace(scheduler=worker.scheduler))
        self._groups: dict[str, str] = {}

    def create(self, name: str, policy: str, project: str = OWNER) -> None:
        """Create a server group, which the other methods call by its name."""
        self._groups[name] = str(uuid.uuid4())
        group = objects.ServerGroup.of(id=self._groups[name], name=name, project=project, policy=policy)
        self._worker.scheduler.create_server_group(context.new(project, "u"), group)

    def boot(self, group: str, policy: str, maximum: int = 1, project: str = OWNER) -> str | None:
        """Return the host of a new member of the group, or None if the request is refused."""
        fields = {"group_id": self._groups[group], "group_policy": policy, "group_max_per_host": maximum}
        ctxt, consumer = context.new(project, "u"), str(uuid.uuid4())
        try:
            builds.build(self._parts, ctxt, objects.RequestSpec.of(resources=SMALL_REQUEST, **fields), [consumer])
            return self._worker.select(ctxt=ctxt, uuids=[consumer], **fields)[1].host(0)
        except (errors.NotFound, errors.Conflict, errors.NoValidHost):
            return None

    def candidates(self, group: str, policy: str, project: str) -> list[str]:
        """Return the hosts that a dry run of the project shows for a new member of the group."""
        spec = objects.RequestSpec.of(resources=SMALL_REQUEST, group_id=self._groups[group], group_policy=policy)
        try:
            document = self._worker.scheduler.dry_run(context.new(project, "u"), spec, 1).document
        except errors.NotFound:
            return []
        return sorted(name for row in document["candidates"] for name in row)


@pytest.fixture
def boots() -> Iterator[Boots]:
    worker = FakeTransportWorker()
    worker.service.start()
    for host in HOSTS:
        worker.join(host, {host: node_report()})
    boots = Boots(worker)
    for name, policy in GROUPS.items():
        boots.create(name, policy)
    yield boots
    worker.service.stop()
    worker.service.wait()


def test_group_of_one_project_and_one_policy(boots: Boots) -> None:
    members = [boots.boot("web", "anti-affinity") for _ in range(len(HOSTS) + 1)]
    assert sorted(filter(None, members)) == sorted(HOSTS)
    assert len({boots.boot("db", "affinity") for _ in range(3)}) == 1


def test_another_policy_gathers_no_members_of_an_anti_affinity_group(boots: Boots) -> None:
    first = boots.boot("web", "anti-affinity")
    assert boots.boot("web", "affinity") != first


def test_another_maximum_gathers_no_members_on_a_host(boots: Boots) -> None:
    members = [boots.boot("web", "anti-affinity")]
    members += [boots.boot("web", "anti-affinity", maximum=9) for _ in range(2 * len(HOSTS))]
    hosts = list(filter(None, members))
    assert len(hosts) == len(set(hosts))


def test_another_project_does_not_split_an_affinity_group(boots: Boots) -> None:
    first = boots.boot("db", "affinity")
    for _ in HOSTS[1:]:
        boots.boot("db", "soft-anti-affinity", project=STRANGER)
    assert {boots.boot("db", "affinity") for _ in range(3)} == {first}


def test_another_project_takes_no_host_from_an_anti_affinity_group(boots: Boots) -> None:
    members = [boots.boot("queue", "anti-affinity")]
    for _ in HOSTS:
        boots.boot("queue", "anti-affinity", project=STRANGER)
    members += [boots.boot("queue", "anti-affinity") for _ in HOSTS[1:]]
    assert sorted(filter(None, members)) == sorted(HOSTS)


def test_dry_run_shows_no_hosts_of_another_projects_group(boots: Boots) -> None:
    first = boots.boot("db", "affinity")
    assert boots.candidates("db", "affinity", OWNER) == [first]
    assert boots.candidates("db", "affinity", STRANGER) in ([], list(HOSTS))
