# SPDX-License-Identifier: Apache-2.0
"""Quotas of cores and memory, which Nova counts by /usages."""

from collections.abc import Iterator

import pytest

from devstack.nova.client import CallFailed
from tests.nova.actions import boot, wait_deleted
from tests.support.nova.checked_cloud import CheckedCloud

QUOTA = "/os-quota-sets/demo"


@pytest.fixture
def quota(cloud: CheckedCloud) -> Iterator[dict[str, int]]:
    """A project that may use three cores."""
    limits = {"cores": 3, "ram": 4096}
    cloud.nova.call("PUT", QUOTA, {"quota_set": limits})
    yield limits
    cloud.nova.call("DELETE", QUOTA)


def test_quota_counts_what_placement_says_is_used(cloud: CheckedCloud, quota: dict[str, int]) -> None:
    servers = [boot(cloud) for _ in range(quota["cores"])]
    with pytest.raises(CallFailed, match="Quota exceeded for cores: Requested 1, but already used 3 of 3 cores"):
        cloud.nova.boot("one-more", "small")
    usages = cloud.placement.get("/usages?project_id=demo")["usages"]
    assert sum(usage.get("VCPU", 0) for usage in usages.values()) == 3
    cloud.nova.call("DELETE", f"/servers/{servers[0]}")
    wait_deleted(cloud.nova, servers[:1])
    boot(cloud)


def test_limits_show_what_is_used(cloud: CheckedCloud, quota: dict[str, int]) -> None:
    boot(cloud, "large")
    limits = cloud.nova.get("/limits")["limits"]["absolute"]
    assert (limits["totalCoresUsed"], limits["totalRAMUsed"]) == (2, 1024)
