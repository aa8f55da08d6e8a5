# SPDX-License-Identifier: Apache-2.0
"""Nova's own SchedulerQueryClient against gantt-scheduler over RabbitMQ."""

import json
import uuid
from pathlib import Path

import pytest

from devstack import peer_environments
from devstack.lab.peers import side
from devstack.servers.errors import BinaryMissing
from devstack.servers.rabbitmq import RabbitNode
from tests.support.nova import nova_clouds
from tests.support.nova.nova_clouds import NovaCloud, spec
from tests.support.servers import missing, running


@pytest.fixture(scope="module")
def url():
    with running(RabbitNode) as node:
        yield node.url().replace("gantt-rabbit://", "rabbit://")


@pytest.fixture(scope="module")
def nova(url):
    """Return Nova's client, in a process of its own environment."""
    try:
        python = peer_environments.python()
    except BinaryMissing as why:
        missing(why)
    with side.running([str(python), str(Path(__file__).parent / "inside" / "nova_client_side.py")]) as peer:
        peer.ask("connect", url=url)
        yield peer


@pytest.fixture
def cloud(url):
    started = NovaCloud(url)
    started.start()
    yield started
    started.stop()


def ask(cloud, nova, primitive, count=1, **options):
    cloud.follow()
    uuids = [str(uuid.uuid4()) for _ in range(count)]
    return uuids, nova.ask("select", primitive=primitive, uuids=uuids, **options)


def test_selections_are_novas_objects(cloud, nova):
    uuids = {cloud.add_host(name): name for name in ("h1", "h2", "h3")}
    (consumer,), answer = ask(cloud, nova, spec())
    ((selected, *alternates),) = answer["rows"]
    assert uuids[selected["compute_node_uuid"]] == selected["service_host"] == selected["nodename"]
    assert (selected["cell_uuid"], selected["availability_zone"]) == (nova_clouds.CELL, "nova")
    assert len(alternates) == 2
    request = json.loads(selected["allocation_request"])
    assert request["mappings"] == {"": [selected["compute_node_uuid"]]}
    assert cloud.allocations_of(consumer)[0] == {
        name: entry["resources"] for name, entry in request["allocations"].items()
    }
    assert set(selected["limits"].values()) <= {None}


def test_refusal_is_novas_exception(cloud, nova):
    cloud.add_host("h1", up=False)
    _, answer = ask(cloud, nova, spec())
    assert "nova.exception.NoValidHost" in answer["raised"]
    assert answer["kwargs"]["reason"] == "There are not enough hosts available."


def test_nova_fills_the_providers_of_groups_from_selection_and_alternates(cloud, nova):
    assert cloud.placement.call("PUT", "/resource_classes/CUSTOM_NIC").status == 201
    nics = {}
    for name in ("h1", "h2"):
        root = cloud.add_host(name)
        nic = cloud.placement.create(f"{name}:nic", parent=root)
        cloud.placement.set_inventories(nic, CUSTOM_NIC=2)
        nics[name] = nic
    port = str(uuid.uuid4())
    fields = {
        "requester_id": port,
        "use_same_provider": True,
        "resources": {"CUSTOM_NIC": 1},
        "provider_uuids": [],
        "required_traits": [],
        "forbidden_traits": [],
        "aggregates": [],
        "forbidden_aggregates": [],
        "in_tree": None,
    }
    requested = [nova_clouds.nova_object("RequestGroup", "1.3", fields)]
    _, answer = ask(cloud, nova, spec(requested_resources=requested), maps=True)
    hosts = [selection["service_host"] for selection in answer["rows"][0]]
    assert sorted(hosts) == ["h1", "h2"]
    assert answer["mappings"] == [{port: [nics[host]]} for host in hosts]


def test_callers_without_objects_are_served(cloud, nova):
    cloud.add_host("h1")
    _, answer = ask(cloud, nova, spec(), return_objects=False)
    assert answer["rows"] == [{"host": "h1", "nodename": "h1", "limits": {}}]


def test_casts_of_computes_are_accepted(cloud, nova):
    cloud.add_host("h1")
    nova.ask("cast", host="h1", uuids=[str(uuid.uuid4())])
    assert "rows" in ask(cloud, nova, spec())[1]
