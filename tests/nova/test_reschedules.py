# SPDX-License-Identifier: Apache-2.0
"""Builds that fail on a host, and builds that end before they are complete."""

import pytest

from devstack.nova.client import wait_until
from tests.nova.actions import SMALL, boot, host_of, hosts_tried, provider_of, wait_deleted
from tests.support.nova.checked_cloud import CheckedCloud

MAX_ATTEMPTS = 3  # Nova's default


@pytest.mark.parametrize("failures", range(1, MAX_ATTEMPTS))
def test_build_that_fails_goes_on_at_an_alternate(cloud: CheckedCloud, failures: int) -> None:
    server = boot(cloud, metadata={"failed_builds": str(failures)})
    tried = hosts_tried(cloud, server, "failed_builds")
    assert len(set(tried)) == len(tried) == failures + 1
    assert host_of(cloud.nova, server) == tried[-1]
    assert cloud.placement.allocations(server) == {provider_of(cloud, tried[-1]): SMALL}


def test_build_that_fails_everywhere_ends_after_all_attempts(cloud: CheckedCloud) -> None:
    server = cloud.nova.boot("server", "small", metadata={"failed_builds": str(MAX_ATTEMPTS)})
    (failed,) = cloud.nova.wait_for([server], "ERROR")
    assert "Exceeded maximum number of retries" in failed["fault"]["message"]
    tried = hosts_tried(cloud, server, "failed_builds")
    assert len(set(tried)) == len(tried) == MAX_ATTEMPTS
    assert cloud.placement.allocations(server) == {}


def test_live_migration_goes_on_at_another_host_where_one_refuses(cloud: CheckedCloud) -> None:
    server = boot(cloud, metadata={"failed_checks": "1"})
    source = host_of(cloud.nova, server)
    cloud.nova.act(server, "os-migrateLive", {"host": None, "block_migration": "auto"})
    wait_until(lambda: host_of(cloud.nova, server) != source, "the live migration")
    cloud.nova.wait_for([server], "ACTIVE")
    refused, destination = hosts_tried(cloud, server, "failed_checks")
    assert len({source, refused, destination}) == 3
    assert cloud.placement.allocations(server) == {provider_of(cloud, destination): SMALL}


def test_server_deleted_while_it_is_built_holds_nothing(cloud: CheckedCloud) -> None:
    server = cloud.nova.boot("server", "small", metadata={"build_seconds": "10"})
    wait_until(lambda: cloud.nova.server(server)["OS-EXT-STS:task_state"] == "spawning", "the build")
    cloud.nova.call("DELETE", f"/servers/{server}")
    wait_deleted(cloud.nova, [server])
    wait_until(lambda: cloud.placement.allocations(server) == {}, "the end of what it holds")
