# SPDX-License-Identifier: Apache-2.0
"""A server group in scheduler hint ``group`` holds for the server, like the ``group_id`` of the request."""

import uuid
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from conductor.requests import builds
from conductor.store.memory import MemoryConductorStore
from rpcapi import context, errors, objects
from tests.support.conductor.conductors import make_conductor
from tests.support.scheduler.hosts import SMALL_REQUEST
from tests.support.scheduler.workers import FakeTransportWorker, node_report

HOSTS = ("h1", "h2", "h3")
GROUP, OTHER = str(uuid.UUID(int=1)), str(uuid.UUID(int=2))
CTXT = context.new("p", "u")

Boot = Callable[..., str]


@pytest.fixture(params=["conductor", "scheduler"])
def boot(request: pytest.FixtureRequest) -> Iterator[Boot]:
    """Boot of a server with an anti-affinity group GROUP; the named service is the first to see the request."""
    worker = FakeTransportWorker()
    worker.service.start()
    for host in HOSTS:
        worker.join(host, {host: node_report()})
    worker.scheduler.create_server_group(
        CTXT, objects.ServerGroup.of(id=GROUP, name="web", project="p", policy="anti-affinity")
    )
    conductor = make_conductor(MemoryConductorStore(), SimpleNamespace(scheduler=worker.scheduler))

    def boot_one(**values: Any) -> str:
        consumer, spec = str(uuid.uuid4()), objects.RequestSpec.of(resources=SMALL_REQUEST, **values)
        if request.param == "conductor":
            builds.build(conductor, CTXT, spec, [consumer])
            (record,) = conductor.store.get([consumer]).values()
            stored = conductor.store.requests([record.request])[record.request].spec
            spec = objects.RequestSpec.obj_from_primitive(stored)
        return worker.scheduler.select_destinations(CTXT, spec, [consumer], fresh=True).host(0)

    yield boot_one
    assert [group.id for group in worker.scheduler.list_server_groups(CTXT).groups] == [GROUP]
    worker.service.stop()
    worker.service.wait()


def test_policy_holds_for_a_group_in_the_hint(boot: Boot) -> None:
    assert sorted(boot(hints={"group": hint}) for hint in (GROUP, [GROUP], f"{{{GROUP}}}")) == sorted(HOSTS)
    with pytest.raises(errors.NoValidHost):
        boot(hints={"group": GROUP})


@pytest.mark.parametrize(
    ("values", "error"),
    [
        ({"hints": {"group": OTHER}}, errors.NotFound),
        ({"hints": {"group": "web"}}, errors.InvalidSpec),
        ({"hints": {"group": ""}}, errors.InvalidSpec),
        ({"hints": {"group": OTHER}, "group_id": GROUP}, errors.InvalidSpec),
    ],
)
def test_unknown_or_contradicting_group_in_the_hint_is_refused(
    boot: Boot, values: dict[str, Any], error: type[errors.GanttError]
) -> None:
    with pytest.raises(error):
        boot(**values)
