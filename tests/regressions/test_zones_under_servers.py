# SPDX-License-Identifier: Apache-2.0
"""A zone keeps its name and its hosts while servers that were booted into it run there, and requests can name it.

Nova refuses such changes of aggregates, because a server could not move afterwards: no host has its zone any more.
"""

from collections.abc import Iterator

import pytest

from rpcapi import context
from tests.regressions.one_process_cloud import OneProcessCloud, running

HALL = ["h1", "h2"]


@pytest.fixture
def cloud(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OneProcessCloud]:
    """A deployment whose aggregate "hall" is the zone "east"."""
    with running(tmp_path_factory.mktemp("cloud"), *HALL, "h3") as cloud:
        assert set_zone(cloud, "hall", "east", *HALL)
        yield cloud


def set_zone(cloud: OneProcessCloud, aggregate: str, zone: str, *hosts: str) -> bool:
    """Return whether `gantt aggregate set --zone` succeeds."""
    named = [argument for host in hosts for argument in ("--host", host)]
    return cloud.gantt("aggregate", "set", aggregate, "--zone", zone, *named).code == 0


def zone_of(cloud: OneProcessCloud, host: str) -> str:
    return str(cloud.gantt("host", "show", f"{host}/node0", "-f", "json").json["zone"])


def boot_into_east(cloud: OneProcessCloud) -> str:
    """Boot the server "server" into the zone; return its host."""
    row = cloud.boot("--az", "east", "--name", "server")
    assert row["status"] == "ACTIVE", row
    return str(row["host"]).partition("/")[0]


def is_movable(cloud: OneProcessCloud) -> bool:
    """Return whether the server can be moved to another host, and keep it there."""
    if cloud.gantt("server", "migrate", "server", "--wait").code:
        return False
    return cloud.gantt("server", "confirm", "server", "--wait").code == 0


def test_server_moves_in_its_zone(cloud: OneProcessCloud) -> None:
    boot_into_east(cloud)
    assert is_movable(cloud)


def test_renamed_zone_leaves_its_servers_movable(cloud: OneProcessCloud) -> None:
    boot_into_east(cloud)
    set_zone(cloud, "hall", "north")
    assert is_movable(cloud)


def test_host_with_a_server_stays_in_its_zone(cloud: OneProcessCloud) -> None:
    host = boot_into_east(cloud)
    assert cloud.gantt("aggregate", "unset", "hall", "--host", host).code != 0
    assert zone_of(cloud, host) == "east"


def test_host_has_one_zone(cloud: OneProcessCloud) -> None:
    assert not set_zone(cloud, "row", "west", "h1")
    assert zone_of(cloud, "h1") == "east"


@pytest.mark.parametrize("zone", [" south ", "south\thall"])
def test_zone_that_can_be_set_can_be_requested(cloud: OneProcessCloud, zone: str) -> None:
    assert not set_zone(cloud, "hall", zone) or cloud.boot("--az", zone)["status"] == "ACTIVE"


def test_empty_zone_is_refused_or_ends_the_zone(cloud: OneProcessCloud) -> None:
    assert not set_zone(cloud, "hall", "") or zone_of(cloud, "h1") != "east"


def test_forced_change_says_what_happens_to_the_servers(cloud: OneProcessCloud) -> None:
    host = boot_into_east(cloud)
    refused = cloud.gantt("aggregate", "set", "hall", "--zone", "north")
    assert refused.code == 1 and "Refused without --force: zone 'east' is taken from" in refused.err
    forced = cloud.gantt("aggregate", "set", "hall", "--zone", "north", "--force")
    assert forced.code == 0 and f"Forced: zone 'east' is taken from {host}/node0 with 1 server" in forced.err
    assert zone_of(cloud, host) == "north"
    assert not is_movable(cloud)
    assert cloud.gantt("aggregate", "set", "hall", "--zone", "east", "--force").code == 0
    assert is_movable(cloud)


@pytest.mark.parametrize("command", [("unset", "hall", "availability_zone"), ("delete", "hall")])
def test_zone_with_servers_ends_only_by_force(cloud: OneProcessCloud, command: tuple[str, ...]) -> None:
    boot_into_east(cloud)
    assert cloud.gantt("aggregate", *command).code == 1
    assert zone_of(cloud, "h1") == "east"
    assert cloud.gantt("aggregate", *command, "--force").code == 0
    assert zone_of(cloud, "h1") != "east"


def test_empty_name_is_refused(cloud: OneProcessCloud) -> None:
    assert cloud.gantt("aggregate", "set", "hall", "--name", "").code == 1


def test_zone_without_servers_may_change(cloud: OneProcessCloud) -> None:
    assert set_zone(cloud, "hall", "north")
    assert zone_of(cloud, "h1") == "north"
    assert cloud.gantt("aggregate", "unset", "hall", "--host", "h1").code == 0
    cloud.scheduler.delete_aggregate(context.new(), "hall")
    cloud.follow()
    assert zone_of(cloud, "h2") != "north"
