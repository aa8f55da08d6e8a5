# SPDX-License-Identifier: Apache-2.0
"""Compute services that an operator disables and enables, and computes that are restarted under their servers."""

import pytest

from devstack.nova.client import wait_until
from tests.nova.actions import (
    SMALL,
    boot,
    host_of,
    kill_compute,
    provider_of,
    refused,
    restart_compute,
    set_status,
)
from tests.nova.conftest import require_equal
from tests.nova.known_hosts import wait_for_host
from tests.support.nova.checked_cloud import CheckedCloud

HOST = "host4"
NO_HOST = "No valid host was found"


def test_disabled_host_takes_no_server_until_it_is_enabled(cloud: CheckedCloud) -> None:
    resident = boot(cloud, host=HOST)
    set_status(cloud, HOST, "disabled")
    try:
        hosts = {host_of(cloud.nova, boot(cloud, "whole")) for _ in range(cloud.size.computes - 1)}
        assert hosts == {*cloud.size.hosts} - {HOST}
        assert NO_HOST in refused(cloud)
        assert cloud.placement.allocations(resident) == {provider_of(cloud, HOST): SMALL}
    finally:
        set_status(cloud, HOST, "enabled")
    assert host_of(cloud.nova, boot(cloud)) == HOST


@pytest.mark.parametrize("action", ["migrate", "os-migrateLive"])
def test_disabled_host_is_emptied_by_moves(cloud: CheckedCloud, action: str) -> None:
    server = boot(cloud, host=HOST)
    set_status(cloud, HOST, "disabled")
    try:
        arguments = {"block_migration": "auto"} if action == "os-migrateLive" else {}
        cloud.nova.act(server, action, {"host": None, **arguments})
        if action == "migrate":
            cloud.nova.wait_for([server], "VERIFY_RESIZE")
            cloud.nova.act(server, "confirmResize")
        wait_until(lambda: host_of(cloud.nova, server) != HOST, "the move")
        cloud.nova.wait_for([server], "ACTIVE")
        require_equal(cloud)
        assert provider_of(cloud, HOST) not in cloud.placement.allocations(server)
    finally:
        set_status(cloud, HOST, "enabled")


def test_restarted_compute_keeps_what_its_servers_hold_and_takes_more(cloud: CheckedCloud) -> None:
    server = boot(cloud, host=HOST)
    kill_compute(cloud, HOST)
    assert cloud.placement.allocations(server) == {provider_of(cloud, HOST): SMALL}
    restart_compute(cloud, HOST)
    require_equal(cloud)
    assert cloud.placement.allocations(server) == {provider_of(cloud, HOST): SMALL}
    assert host_of(cloud.nova, boot(cloud, host=HOST)) == HOST


def test_host_that_is_declared_down_takes_no_server(cloud: CheckedCloud) -> None:
    kill_compute(cloud, HOST)
    wait_for_host(cloud, HOST, forced_down=True)
    try:
        hosts = {host_of(cloud.nova, boot(cloud, "whole")) for _ in range(cloud.size.computes - 1)}
        assert hosts == {*cloud.size.hosts} - {HOST}
        assert NO_HOST in refused(cloud)
    finally:
        restart_compute(cloud, HOST)
    assert host_of(cloud.nova, boot(cloud)) == HOST
