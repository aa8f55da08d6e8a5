# SPDX-License-Identifier: Apache-2.0
"""Accepted builds restore the server group that was deleted before them, with its name and within the quota."""

import uuid
from collections.abc import Iterator
from types import SimpleNamespace

import pytest

from conductor.requests import builds
from conductor.saga.step_context import load_spec
from conductor.store.memory import MemoryConductorStore
from rpcapi import context, errors, objects
from tests.support.conductor.conductors import make_conductor
from tests.support.scheduler.hosts import SMALL_REQUEST
from tests.support.scheduler.workers import FakeTransportWorker, node_report

OWNER, STRANGER = context.new("owner", "u"), context.new("stranger", "u")


class Cloud:
    """Conductor and scheduler worker with three hosts, and a limit of one server group per project."""

    def __init__(self) -> None:
        self.worker = FakeTransportWorker(server_groups=1)
        self.worker.service.start()
        for host in ("h1", "h2", "h3"):
            self.worker.join(host, {host: node_report()})
        self._conductor = make_conductor(MemoryConductorStore(), SimpleNamespace(scheduler=self.worker.scheduler))

    def create(self, ctxt: context.RequestContext, group_id: str) -> None:
        values = {"id": group_id, "name": "web", "project": ctxt.project_id, "policy": "anti-affinity"}
        self.worker.scheduler.create_server_group(ctxt, objects.ServerGroup.of(**values))

    def accept(self, group_id: str) -> str:
        """Record a build of the owner with this group, and return its instance."""
        consumer = str(uuid.uuid4())
        spec = objects.RequestSpec.of(resources=SMALL_REQUEST, group_id=group_id)
        builds.build(self._conductor, OWNER, spec, [consumer])
        return consumer

    def place(self, consumer: str) -> str:
        record = self._conductor.store.get([consumer])[consumer]
        spec = load_spec(self._conductor.store.requests([record.request])[record.request].spec)
        return self.worker.scheduler.select_destinations(OWNER, spec, [consumer], fresh=True).host(0)

    def groups(self) -> list[tuple[str, str]]:
        return [(group.id, group.name) for group in self.worker.scheduler.list_server_groups(OWNER).groups]


@pytest.fixture
def cloud() -> Iterator[Cloud]:
    cloud = Cloud()
    yield cloud
    cloud.worker.service.stop()
    cloud.worker.service.wait()


def test_accepted_builds_restore_groups_within_the_quota(cloud: Cloud) -> None:
    ids = [str(uuid.uuid4()) for _ in range(3)]
    consumers = []
    for group_id in ids:
        cloud.create(OWNER, group_id)
        consumers.append(cloud.accept(group_id))
        cloud.worker.scheduler.delete_server_group(OWNER, group_id)
    assert cloud.groups() == []
    cloud.place(consumers[0])
    for consumer in consumers[1:]:
        with pytest.raises(errors.QuotaExceeded):
            cloud.place(consumer)
    assert cloud.groups() == [(ids[0], "web")]


def test_stranger_cannot_take_the_uuid_of_the_deleted_group(cloud: Cloud) -> None:
    group_id = str(uuid.uuid4())
    cloud.create(OWNER, group_id)
    consumers = [cloud.accept(group_id), cloud.accept(group_id)]
    cloud.worker.scheduler.delete_server_group(OWNER, group_id)
    with pytest.raises(errors.Conflict):
        cloud.create(STRANGER, group_id)
    assert len({cloud.place(consumer) for consumer in consumers}) == 2
    assert cloud.groups() == [(group_id, "web")]
