# SPDX-License-Identifier: Apache-2.0
"""Methods for server groups, over the bus and as a client of one project calls them."""

import uuid

import pytest

from rpcapi import context, errors, objects
from scheduler_svc.endpoints.server_groups import ServerGroupEndpoint
from scheduler_svc.scheduling.server_groups import ServerGroups
from tests.support.scheduler.workers import FakeTransportWorker


def new_group(project: str = "p") -> objects.ServerGroup:
    return objects.ServerGroup.of(id=str(uuid.uuid4()), name="web", project=project, policy="affinity")


def test_group_is_created_read_listed_and_deleted(worker: FakeTransportWorker) -> None:
    ctxt, group = context.new("p"), new_group()
    assert worker.scheduler.create_server_group(ctxt, group).values_set() == group.values_set()
    assert worker.scheduler.get_server_group(ctxt, group.id).values_set() == group.values_set()
    assert [row.id for row in worker.scheduler.list_server_groups(ctxt, project="p").groups] == [group.id]
    worker.scheduler.delete_server_group(ctxt, group.id)
    worker.scheduler.delete_server_group(ctxt, group.id)
    with pytest.raises(errors.NotFound):
        worker.scheduler.get_server_group(ctxt, group.id)


def test_client_of_one_project_reaches_its_own_groups_only(worker: FakeTransportWorker) -> None:
    partitions = worker.service._worker.scheduling.partitions
    endpoint = ServerGroupEndpoint(ServerGroups(partitions, lambda: 10))
    own, foreign = new_group("p"), new_group("q")
    for group in (own, foreign):
        worker.scheduler.create_server_group(context.new(), group)
    ctxt = context.new("p")
    ctxt.sender_project = "p"
    assert [group.id for group in endpoint.list_server_groups(ctxt, project="q").groups] == [own.id]
    with pytest.raises(errors.NotFound):
        ServerGroupEndpoint.get_server_group.__wrapped__(endpoint, ctxt, foreign.id, "q")
    endpoint.delete_server_group(ctxt, group_id=foreign.id)
    assert worker.scheduler.get_server_group(context.new(), foreign.id).project == "q"


@pytest.mark.parametrize("writer", ["gantt-scheduler", "gantt"])
def test_no_caller_writes_the_document_of_a_group(worker: FakeTransportWorker, writer: str) -> None:
    group = worker.scheduler.create_server_group(context.new(), new_group())
    state = worker.scheduler.get_host_state(context.new(), "server_group", group.id)
    state.document = {"policy": "anti-affinity"}
    with pytest.raises(errors.WriterRefused):
        worker.scheduler.update_host_state(context.new(), state, writer)
    with pytest.raises(errors.WriterRefused):
        worker.scheduler.delete_host_state(context.new(), "server_group", group.id, state.version, writer)
    assert worker.scheduler.get_server_group(context.new(), group.id).policy == "affinity"
