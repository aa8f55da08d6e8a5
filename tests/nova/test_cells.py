# SPDX-License-Identifier: Apache-2.0
"""Two cells, of which the second has a message bus of its own: what gantt knows of it comes from the bridge alone."""

import contextlib
import uuid
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from devstack.confs import PARTITION
from devstack.deploy.users import redis_users
from devstack.nova.client import wait_until
from devstack.nova.confs import CELL2_DATABASE
from devstack.servers.errors import BinaryMissing
from scheduler_svc.store.redis import RedisStore
from tests.nova.actions import SMALL, boot, host_of, kill_compute, migration_of, provider_of, restart_compute
from tests.nova.conftest import SIZE, create_flavors, delete_servers, require_equal
from tests.support.nova.checked_cloud import CheckedCloud
from tests.support.nova.nova_clouds import NovaClient, cell, destination, spec
from tests.support.run_folders import claim_folder, release_folder
from tests.support.servers import missing

TWO_CELLS = replace(SIZE, computes=2, second_cell=2, placement="gantt", scheduler="gantt")
FIRST, SECOND = {"host1", "host2"}, {"remote1", "remote2"}


@pytest.fixture(scope="module")
def running_cells() -> Iterator[CheckedCloud]:
    """A cloud of two cells with two computes each, in which gantt decides."""
    cloud = CheckedCloud(claim_folder(), TWO_CELLS)
    try:
        cloud.start()
    except BinaryMissing as why:
        missing(why)
    create_flavors(cloud.nova)
    yield cloud
    cloud.destroy()
    release_folder(cloud.layout.folder)


@pytest.fixture
def cloud(running_cells: CheckedCloud) -> Iterator[CheckedCloud]:
    """The cloud without servers, known to the bridge; allocations are compared at the end."""
    wait_until(lambda: set(documents(running_cells)) == FIRST | SECOND, "the hosts of both cells")
    yield running_cells
    require_equal(running_cells)
    delete_servers(running_cells.nova)
    require_equal(running_cells)


def documents(cloud: CheckedCloud) -> dict[str, Any]:
    """Return what the bridge has written of each host."""
    url = cloud.store.url(redis_users.SCHEDULER.name)
    with contextlib.closing(RedisStore(url, PARTITION, namespaces=["compute_node"])) as store:
        return {document["service_host"]: document for _, _, document in store.list_state("compute_node")[0]}


def select(cloud: CheckedCloud, **fields: Any) -> list[dict[str, Any]]:
    """Select a host for an instance as a conductor does, free it, and return the selection and its alternates."""
    consumer = str(uuid.uuid4())
    client = NovaClient(cloud.parts.urls.bus)
    try:
        ((*row,),) = client.select(spec(**fields), [consumer])
    finally:
        client.transport.cleanup()
    cloud.placement.call("DELETE", f"/allocations/{consumer}")
    return [selection["nova_object.data"] for selection in row]


def test_hosts_of_both_cells_take_servers(cloud: CheckedCloud) -> None:
    uuids = [cloud.nova.boot(f"server{number}", "whole") for number in range(len(TWO_CELLS.hosts))]
    servers = cloud.nova.wait_for(uuids, "ACTIVE")
    assert {server["OS-EXT-SRV-ATTR:host"] for server in servers} == FIRST | SECOND
    assert cloud.guests() == {server["id"]: [server["OS-EXT-SRV-ATTR:host"]] for server in servers}


@pytest.mark.parametrize("hosts", [FIRST, SECOND])
def test_requested_cell_has_the_host_and_its_alternates(cloud: CheckedCloud, hosts: set[str]) -> None:
    (name,) = {documents(cloud)[host]["cell"] for host in hosts}
    row = select(cloud, requested_destination=destination(cell=cell(name)))
    assert {data["service_host"] for data in row} == hosts
    assert {data["cell_uuid"] for data in row} == {name}


def test_alternates_are_in_the_cell_of_the_selected_host(cloud: CheckedCloud) -> None:
    row = select(cloud)
    assert {data["service_host"] for data in row} in (FIRST, SECOND)


def test_disabled_cell_takes_no_server(cloud: CheckedCloud) -> None:
    name = documents(cloud)["remote1"]["cell"]
    update = ("nova-manage", "cell_v2", "update_cell", "--cell_uuid", name, "--name", "cell2")
    # Without these nova-manage would write those of the first cell.
    update += ("--database_connection", cloud.parts.urls.databases[CELL2_DATABASE])
    update += ("--transport-url", cloud.parts.urls.cell2_bus)
    cloud.command(*update, "--disable")
    try:
        wait_until(lambda: documents(cloud)["remote1"]["cell_disabled"], "the cell to be disabled")
        assert {host_of(cloud.nova, boot(cloud, "whole")) for _ in FIRST} == FIRST
        cloud.nova.wait_for([cloud.nova.boot("one-more", "small")], "ERROR")
    finally:
        cloud.command(*update, "--enable")
    wait_until(lambda: not documents(cloud)["remote1"]["cell_disabled"], "the cell to be enabled")
    assert host_of(cloud.nova, boot(cloud)) in SECOND


def test_cold_migration_stays_in_its_cell(cloud: CheckedCloud) -> None:
    server = boot(cloud, host="remote1")
    cloud.nova.act(server, "migrate", {"host": None})
    cloud.nova.wait_for([server], "VERIFY_RESIZE")
    assert host_of(cloud.nova, server) == "remote2"
    assert cloud.placement.allocations(migration_of(cloud.nova, server)) == {provider_of(cloud, "remote1"): SMALL}
    cloud.nova.act(server, "confirmResize")
    cloud.nova.wait_for([server], "ACTIVE")


def test_cold_migration_without_a_host_in_its_cell_leaves_the_server_as_it_was(cloud: CheckedCloud) -> None:
    server = boot(cloud, host="remote1")
    boot(cloud, "whole", host="remote2")
    cloud.nova.act(server, "migrate", {"host": None})
    cloud.nova.wait_for([server], "ACTIVE")
    require_equal(cloud)
    assert host_of(cloud.nova, server) == "remote1"


def test_dead_compute_of_the_second_cell_is_avoided(cloud: CheckedCloud) -> None:
    kill_compute(cloud, "remote1")
    try:
        wait_until(lambda: documents(cloud)["remote1"]["forced_down"], "the bridge to read it")
        uuids = [cloud.nova.boot(f"server{number}", "whole") for number in range(3)]
        hosts = {server["OS-EXT-SRV-ATTR:host"] for server in cloud.nova.wait_for(uuids, "ACTIVE")}
        assert hosts == {"host1", "host2", "remote2"}
    finally:
        restart_compute(cloud, "remote1")
