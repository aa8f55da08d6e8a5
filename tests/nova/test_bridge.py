# SPDX-License-Identifier: Apache-2.0
"""gantt-nova-bridge reads the databases that Nova's services write."""

import contextlib
import sys
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from devstack import confs
from devstack.confs import PARTITION
from devstack.deploy.users import redis_users
from devstack.deploy.users.folder import write_private
from devstack.nova.client import wait_until
from devstack.nova.confs import API_DATABASE, CELL_DATABASE
from devstack.nova.roles import Daemon
from scheduler_svc.nova.bridge import signals
from scheduler_svc.store.redis import RedisStore
from tests.nova.actions import boot, host_of, kill_compute, provider_of, refused, restart_compute
from tests.support.nova.checked_cloud import CheckedCloud

UNMAPPED = "host4"
NAMESPACES = ("compute_node", "nova_bridge", "aggregate", signals.NAMESPACE)


class Bridge:
    """A running bridge, and what it has written."""

    def __init__(self, cloud: CheckedCloud, store: RedisStore) -> None:
        self.store = store
        self._cloud = cloud

    def computes(self, key: str) -> dict[str, Any]:
        """Return one key of the compute nodes' documents, by service host."""
        return {document["service_host"]: document[key] for _, _, document in self.store.list_state("compute_node")[0]}

    def wait_for(self, key: str, value: Any, host: str) -> None:
        """Wait until a host's document has a value."""
        wait_until(lambda: self.computes(key).get(host) == value, f"{key} of {host} to be {value}")


@pytest.fixture
def bridge(cloud: CheckedCloud) -> Iterator[Bridge]:
    conf = cloud.layout.etc / "gantt-nova-bridge.conf"
    groups = {
        "rpc": {"partition": PARTITION},
        "store": {"url": cloud.store.url(redis_users.NOVA_BRIDGE.name), "durability": "everysec"},
        "nova": {"api_database": cloud.parts.urls.databases[API_DATABASE], "bridge_interval": 1},
    }
    write_private(conf, confs.text(groups))
    command = [sys.executable, "-W", "ignore", "-m", "scheduler_svc.cmd.nova_bridge", "--config-file", str(conf)]
    project = {"PYTHONPATH": str(Path(__file__).parents[2])}
    process = cloud.spawn(Daemon("nova-bridge-of-a-test", command, project))
    url = cloud.store.url(redis_users.SCHEDULER.name)
    try:
        with contextlib.closing(RedisStore(url, PARTITION, namespaces=NAMESPACES)) as store:
            running = Bridge(cloud, store)
            wait_until(lambda: len(running.computes("up")) == cloud.size.computes, "a document of each compute node")
            yield running
    finally:
        process.stop(30)


def test_documents_are_those_of_the_providers(cloud: CheckedCloud, bridge: Bridge) -> None:
    documents = {name: document for name, _, document in bridge.store.list_state("compute_node")[0]}
    for host in cloud.size.hosts:
        document = documents[f"@api/{provider_of(cloud, host)}"]
        assert (document["service_host"], document["mapped"], document["up"]) == (host, True, True)
        assert document["facts"]["hypervisor_type"] and document["facts"]["supported_instances"]
        assert document["version"] >= 70
    state = bridge.store.get_state("nova_bridge", "bridge")[1]
    assert [cell["name"] for cell in state["cells"].values()] == ["cell1"]
    assert state["all_computes_own"] is True


def test_counts_of_a_host_follow_its_servers(cloud: CheckedCloud, bridge: Bridge) -> None:
    host = host_of(cloud.nova, boot(cloud))
    wait_until(lambda: bridge.computes("metrics")[host].get("instances") == 1, "the count of servers")


def test_what_operators_say_of_a_service_is_read(cloud: CheckedCloud, bridge: Bridge) -> None:
    (service,) = cloud.nova.get("/os-services?binary=nova-compute&host=host1")["services"]
    path = f"/os-services/{service['id']}"
    cloud.nova.call("PUT", path, {"status": "disabled", "disabled_reason": "repair"})
    try:
        bridge.wait_for("disabled", True, "host1")
        assert bridge.computes("disabled_reason")["host1"] == "repair"
    finally:
        cloud.nova.call("PUT", path, {"status": "enabled"})
    bridge.wait_for("disabled", False, "host1")


def test_a_dead_compute_is_down_and_up_again_once_it_is_restarted(cloud: CheckedCloud, bridge: Bridge) -> None:
    kill_compute(cloud, "host1")
    try:
        bridge.wait_for("forced_down", True, "host1")
        assert bridge.computes("up")["host1"] is False
    finally:
        restart_compute(cloud, "host1")
    bridge.wait_for("up", True, "host1")


def test_aggregates_are_those_of_nova(cloud: CheckedCloud, bridge: Bridge) -> None:
    record = {"name": f"rack-{uuid.uuid4()}", "availability_zone": "zone-of-a-test"}
    aggregate = cloud.nova.call("POST", "/os-aggregates", {"aggregate": record})["aggregate"]
    action = f"/os-aggregates/{aggregate['id']}/action"

    def document() -> dict[str, Any]:
        return {name: shown for name, _, shown in bridge.store.list_state("aggregate")[0]}.get(aggregate["uuid"], {})

    try:
        cloud.nova.call("POST", action, {"add_host": {"host": "host1"}})
        cloud.nova.call("POST", action, {"set_metadata": {"metadata": {"disk": "ssd"}}})
        wait_until(lambda: "disk" in document().get("metadata", {}) and document()["hosts"], "the aggregate")
        assert document() == {
            "name": record["name"],
            "hosts": [f"@api/{provider_of(cloud, 'host1')}"],
            "metadata": {"availability_zone": "zone-of-a-test", "disk": "ssd"},
        }
    finally:
        cloud.nova.call("POST", action, {"remove_host": {"host": "host1"}})
        cloud.nova.call("DELETE", f"/os-aggregates/{aggregate['id']}")
    wait_until(lambda: not document(), "the end of the aggregate")


def test_a_disabled_cell_is_read(cloud: CheckedCloud, bridge: Bridge) -> None:
    (cell,) = bridge.store.get_state("nova_bridge", "bridge")[1]["cells"]
    cloud.command("nova-manage", "cell_v2", "update_cell", "--cell_uuid", cell, "--name", "cell1", "--disable")
    try:
        bridge.wait_for("cell_disabled", True, "host1")
    finally:
        cloud.command("nova-manage", "cell_v2", "update_cell", "--cell_uuid", cell, "--name", "cell1", "--enable")
    bridge.wait_for("cell_disabled", False, "host1")


def test_a_deleted_host_mapping_is_read_until_the_host_is_discovered_again(cloud: CheckedCloud, bridge: Bridge) -> None:
    (cell,) = bridge.store.get_state("nova_bridge", "bridge")[1]["cells"]
    cloud.command("nova-manage", "cell_v2", "delete_host", "--cell_uuid", cell, "--host", UNMAPPED)
    try:
        bridge.wait_for("mapped", False, UNMAPPED)
        wait_until(lambda: bridge.store.get_state("nova_bridge", "bridge")[1]["unmapped"] == [UNMAPPED], "its name")
        if cloud.size.scheduler == "gantt":
            hosts = {host_of(cloud.nova, boot(cloud, "whole")) for _ in range(cloud.size.computes - 1)}
            assert hosts == {*cloud.size.hosts} - {UNMAPPED}
            assert "No valid host was found" in refused(cloud)
    finally:
        cloud.command("nova-manage", "cell_v2", "discover_hosts", "--by-service")
    bridge.wait_for("mapped", True, UNMAPPED)
    assert host_of(cloud.nova, boot(cloud, host=UNMAPPED)) == UNMAPPED


def test_a_second_cell_is_read_and_one_that_does_not_answer_stops_nothing(cloud: CheckedCloud, bridge: Bridge) -> None:
    connection = cloud.parts.urls.databases[CELL_DATABASE].replace("/nova?", "/there_is_none?")
    created = cloud.command(
        *("nova-manage", "cell_v2", "create_cell", "--name", "cell2", "--verbose"),
        *("--database_connection", connection, "--transport-url", f"{cloud.parts.urls.bus}2"),
    )
    cell = created.strip().splitlines()[-1].strip()

    def states() -> dict[str, Any]:
        cells: dict[str, Any] = bridge.store.get_state("nova_bridge", "bridge")[1]["cells"]
        return {state["name"]: state for state in cells.values()}

    try:
        wait_until(lambda: "unread_since_ms" in states().get("cell2", {}), "the second cell")
        assert "unread_since_ms" not in states()["cell1"]
        assert set(bridge.computes("up").values()) == {True}
    finally:
        cloud.command("nova-manage", "cell_v2", "delete_cell", "--cell_uuid", cell)
    wait_until(lambda: "cell2" not in states(), "the end of the second cell")
