# SPDX-License-Identifier: Apache-2.0
"""Resizes to another cell, which Nova's policy allows to one user; all others stay in their cell."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from devstack.nova.client import NovaClient, wait_until
from tests.nova.actions import LARGE, SMALL, boot, fill, host_of, migration_of, provider_of
from tests.nova.conftest import SIZE, compared, require_equal, started_cloud
from tests.support.nova.checked_cloud import CheckedCloud

MOVER = "mover:demo"  # the token of a user that may leave the cell
POLICY = '"compute:servers:resize:cross_cell": "user_id:mover"\n'
SOURCE, NEIGHBOUR, REMOTE = "host1", "host2", "remote1"


@pytest.fixture(scope="module")
def running_cloud(tmp_path_factory: pytest.TempPathFactory) -> Iterator[CheckedCloud]:
    """A cloud of two cells, with two computes and one."""
    policy = Path(tmp_path_factory.mktemp("policy")) / "policy.yaml"
    policy.write_text(POLICY)
    options = {"oslo_policy": {"policy_file": str(policy)}}
    with started_cloud(replace(SIZE, computes=2, second_cell=1, nova_options=options)) as cloud:
        yield cloud


@pytest.fixture
def cloud(running_cloud: CheckedCloud) -> Iterator[CheckedCloud]:
    """The cloud without servers."""
    with compared(running_cloud):
        yield running_cloud


@pytest.fixture
def mover(cloud: CheckedCloud) -> NovaClient:
    """The client of the user that may leave the cell."""
    return NovaClient(cloud.parts.urls.api, MOVER)


@pytest.fixture
def moved(cloud: CheckedCloud, mover: NovaClient) -> str:
    """A server after a resize to the other cell: its own has no capacity left."""
    server = boot(cloud, host=SOURCE)
    fill(cloud, NEIGHBOUR)
    mover.act(server, "resize", {"flavorRef": "large"})
    mover.wait_for([server], "VERIFY_RESIZE")
    return server


def test_resize_to_another_cell_holds_both_hosts(cloud: CheckedCloud, moved: str) -> None:
    assert host_of(cloud.nova, moved) == REMOTE
    assert cloud.placement.allocations(moved) == {provider_of(cloud, REMOTE): LARGE}
    assert cloud.placement.allocations(migration_of(cloud.nova, moved)) == {provider_of(cloud, SOURCE): SMALL}


@pytest.mark.parametrize(
    ("action", "host", "amounts"), [("confirmResize", REMOTE, LARGE), ("revertResize", SOURCE, SMALL)]
)
def test_resize_to_another_cell_ends_on_one_host(
    cloud: CheckedCloud, moved: str, action: str, host: str, amounts: dict[str, int]
) -> None:
    migration = migration_of(cloud.nova, moved)
    cloud.nova.act(moved, action)
    cloud.nova.wait_for([moved], "ACTIVE")
    require_equal(cloud)
    assert host_of(cloud.nova, moved) == host
    assert cloud.placement.allocations(moved) == {provider_of(cloud, host): amounts}
    wait_until(lambda: cloud.placement.allocations(migration) == {}, "the end of what the migration holds")


def test_resize_prefers_the_own_cell(cloud: CheckedCloud, mover: NovaClient) -> None:
    server = boot(cloud, host=SOURCE)
    boot(cloud, "quarter", host=NEIGHBOUR)  # the other cell has more free capacity
    mover.act(server, "migrate", {"host": None})
    mover.wait_for([server], "VERIFY_RESIZE")
    assert host_of(cloud.nova, server) == NEIGHBOUR


def test_cold_migration_goes_to_the_named_host_of_another_cell(cloud: CheckedCloud, mover: NovaClient) -> None:
    server = boot(cloud, host=SOURCE)
    mover.act(server, "migrate", {"host": REMOTE})
    mover.wait_for([server], "VERIFY_RESIZE")
    assert host_of(cloud.nova, server) == REMOTE
    mover.act(server, "confirmResize")
    mover.wait_for([server], "ACTIVE")
    assert cloud.placement.allocations(server) == {provider_of(cloud, REMOTE): SMALL}


def test_others_stay_in_their_cell(cloud: CheckedCloud) -> None:
    server = boot(cloud, host=SOURCE)
    fill(cloud, NEIGHBOUR)
    cloud.nova.act(server, "resize", {"flavorRef": "large"})
    cloud.nova.wait_for([server], "ACTIVE")
    require_equal(cloud)
    assert cloud.placement.allocations(server) == {provider_of(cloud, SOURCE): SMALL}
