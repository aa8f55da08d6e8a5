# SPDX-License-Identifier: Apache-2.0
"""A Nova cloud for the whole run, and its comparison after each test."""

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import pytest

from devstack.nova.client import CallFailed, NovaClient, wait_until
from devstack.nova.size import CloudSize
from devstack.servers import lifetime
from devstack.servers.errors import BinaryMissing, ServerNotReady
from tests.nova.actions import aggregates_of, wait_deleted
from tests.nova.groups import MakeGroup
from tests.support.nova.checked_cloud import CheckedCloud
from tests.support.run_folders import claim_folder, release_folder
from tests.support.servers import missing

SCHEDULER = os.environ.get("GANTT_NOVA_SCHEDULER", CloudSize.scheduler)
SIZE = CloudSize(
    computes=4,
    vcpus=16,
    scheduler=SCHEDULER,
    # nova-scheduler connects to Placement before it forks: its workers share the connection, and take each other's
    # answers. One is not confused.
    schedulers=2 if SCHEDULER == "gantt" else 1,
    durability="always",
    build_timeout=5,
)
FLAVORS = {"small": (1, 512, 4), "large": (2, 1024, 8), "quarter": (4, 512, 4), "whole": (16, 512, 4)}
SETTLE_SECONDS = 120.0


@pytest.hookimpl(tryfirst=True)  # before the hook of all tests, which leaves them out by this mark
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.nodeid.startswith("tests/nova/"):
            item.add_marker(pytest.mark.nova)
            item.add_marker(pytest.mark.timeout(900))


@pytest.fixture(scope="session")
def running_cloud() -> Iterator[CheckedCloud]:
    """A cloud with gantt-placement, four computes and the flavors."""
    folder = os.environ.get("GANTT_NOVA_CLOUD")
    if folder:
        present = CheckedCloud.find(Path(folder))
        assert present is not None and present.running, f"there is no running cloud in {folder}"
        create_flavors(present.nova)
        yield present
        lifetime.release()
        return
    with started_cloud(SIZE) as cloud:
        yield cloud


@contextlib.contextmanager
def started_cloud(size: CloudSize) -> Iterator[CheckedCloud]:
    """A cloud with the flavors; it is stopped and removed at the end."""
    cloud = CheckedCloud(claim_folder(), size)
    try:
        cloud.start()
    except BinaryMissing as why:
        missing(why)
    try:
        create_flavors(cloud.nova)
        yield cloud
    finally:
        cloud.destroy()
        release_folder(cloud.layout.folder)


@pytest.fixture
def cloud(running_cloud: CheckedCloud) -> Iterator[CheckedCloud]:
    """The cloud without servers. At the end of the test, and when its servers are deleted, all records are compared."""
    with compared(running_cloud):
        yield running_cloud


@contextlib.contextmanager
def compared(cloud: CheckedCloud) -> Iterator[None]:
    """Delete servers before and after; require that all records are equal, with servers and without."""
    delete_servers(cloud.nova)
    yield
    require_equal(cloud)
    delete_servers(cloud.nova)
    require_equal(cloud)


@pytest.fixture
def aggregate(cloud: CheckedCloud) -> Iterator[str]:
    """The uuid of a host aggregate with host1."""
    record = cloud.nova.call("POST", "/os-aggregates", {"aggregate": {"name": "rack1"}})["aggregate"]
    path = f"/os-aggregates/{record['id']}"
    cloud.nova.call("POST", f"{path}/action", {"add_host": {"host": "host1"}})
    yield record["uuid"]
    cloud.nova.call("POST", f"{path}/action", {"remove_host": {"host": "host1"}})
    cloud.nova.call("DELETE", path)
    assert aggregates_of(cloud, "host1") == []


@pytest.fixture
def make_group(cloud: CheckedCloud) -> Iterator[MakeGroup]:
    """A function that creates a server group of a policy with rules, and returns its uuid."""
    groups = []

    def make(policy: str, **rules: int) -> str:
        group = {"name": f"group-{uuid4()}", "policy": policy, **({"rules": rules} if rules else {})}
        identity: str = cloud.nova.call("POST", "/os-server-groups", {"server_group": group})["server_group"]["id"]
        groups.append(identity)
        return identity

    yield make
    for identity in groups:
        cloud.nova.call("DELETE", f"/os-server-groups/{identity}")


def require_equal(cloud: CheckedCloud) -> None:
    """Wait until allocations, usages, claims and guests are those of Nova's records; raises AssertionError."""
    try:
        wait_until(lambda: not cloud.inconsistencies(), "equal records", SETTLE_SECONDS)
    except ServerNotReady:
        differences = cloud.inconsistencies()
        assert not differences, "\n".join(differences)


def create_flavors(nova: NovaClient) -> None:
    """Create the flavors that are missing."""
    present = {flavor["id"] for flavor in nova.get("/flavors")["flavors"]}
    for name, (vcpus, memory_mb, disk_gb) in FLAVORS.items():
        if name not in present:
            nova.create_flavor(name, vcpus, memory_mb, disk_gb)


def delete_servers(nova: NovaClient) -> None:
    """Delete all servers, and wait until they are gone."""
    uuids = [server["id"] for server in nova.get("/servers?all_tenants=1&limit=1000")["servers"]]
    for uuid in uuids:
        try:
            nova.call("DELETE", f"/servers/{uuid}")
        except CallFailed as why:
            assert why.status == 404, why
    wait_deleted(nova, uuids)
