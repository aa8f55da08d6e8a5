# SPDX-License-Identifier: Apache-2.0
"""Options of nova.conf that decide where servers may go; gantt has what gantt-nova-config makes of them."""

import uuid
from collections.abc import Iterator
from dataclasses import replace

import pytest

from tests.nova.actions import LARGE, SMALL, boot, fill, host_of, migration_of, provider_of, refused
from tests.nova.aggregates import host_aggregate
from tests.nova.conftest import SIZE, compared, delete_servers, require_equal, started_cloud
from tests.nova.groups import Boot, MakeGroup, in_one_request, members_by_host, one_by_one
from tests.support.nova.checked_cloud import CheckedCloud

FILTERS = ("ComputeFilter", "ComputeCapabilitiesFilter", "ImagePropertiesFilter", "AggregateInstanceExtraSpecsFilter")
OPTIONS = {
    "DEFAULT": {"allow_resize_to_same_host": "true"},
    "scheduler": {"enable_isolated_aggregate_filtering": "true"},
    "filter_scheduler": {"enabled_filters": ",".join(FILTERS), "soft_affinity_weight_multiplier": "100"},
}
HOST, OTHER = "host1", "host2"
TRAIT = "COMPUTE_NODE"  # every compute has it
NO_HOST = "No valid host was found"


@pytest.fixture(scope="module")
def running_cloud() -> Iterator[CheckedCloud]:
    """A cloud of two computes with the options."""
    with started_cloud(replace(SIZE, computes=2, nova_options=OPTIONS)) as cloud:
        yield cloud


@pytest.fixture
def cloud(running_cloud: CheckedCloud) -> Iterator[CheckedCloud]:
    """The cloud without servers."""
    with compared(running_cloud):
        yield running_cloud


@pytest.fixture
def resized(cloud: CheckedCloud) -> str:
    """A server after a resize on its own host: the other one is full."""
    server = boot(cloud, host=HOST)
    fill(cloud, OTHER)
    cloud.nova.act(server, "resize", {"flavorRef": "large"})
    cloud.nova.wait_for([server], "VERIFY_RESIZE")
    assert host_of(cloud.nova, server) == HOST
    return server


def test_resize_on_the_same_host_holds_both_flavors(cloud: CheckedCloud, resized: str) -> None:
    provider = provider_of(cloud, HOST)
    assert cloud.placement.allocations(resized) == {provider: LARGE}
    assert cloud.placement.allocations(migration_of(cloud.nova, resized)) == {provider: SMALL}


@pytest.mark.parametrize(("action", "amounts"), [("confirmResize", LARGE), ("revertResize", SMALL)])
def test_resize_on_the_same_host_ends_with_one_flavor(
    cloud: CheckedCloud, resized: str, action: str, amounts: dict[str, int]
) -> None:
    migration = migration_of(cloud.nova, resized)
    cloud.nova.act(resized, action)
    cloud.nova.wait_for([resized], "ACTIVE")
    require_equal(cloud)
    assert cloud.placement.allocations(resized) == {provider_of(cloud, HOST): amounts}
    assert cloud.placement.allocations(migration) == {}


def test_resize_fits_on_no_host_that_holds_both_flavors_only_apart(cloud: CheckedCloud) -> None:
    server = boot(cloud, "quarter", host=HOST)
    fill(cloud, OTHER)
    cloud.nova.act(server, "resize", {"flavorRef": "whole"})
    cloud.nova.wait_for([server], "ACTIVE")
    require_equal(cloud)
    assert host_of(cloud.nova, server) == HOST


def test_cold_migration_stays_off_its_host(cloud: CheckedCloud) -> None:
    server = boot(cloud, host=HOST)
    fill(cloud, OTHER)
    cloud.nova.act(server, "migrate", {"host": None})
    cloud.nova.wait_for([server], "ACTIVE")
    require_equal(cloud)
    assert host_of(cloud.nova, server) == HOST


def test_aggregate_with_a_required_trait_takes_servers_that_require_it(cloud: CheckedCloud) -> None:
    special = _flavor(cloud, **{f"trait:{TRAIT}": "required"})
    with host_aggregate(cloud, [HOST], **{f"trait:{TRAIT}": "required"}):
        assert host_of(cloud.nova, boot(cloud, "whole")) == OTHER
        assert NO_HOST in refused(cloud)
        assert host_of(cloud.nova, boot(cloud, special)) == HOST
        delete_servers(cloud.nova)
    assert {host_of(cloud.nova, boot(cloud, "whole")) for _ in range(2)} == {HOST, OTHER}


def test_flavor_goes_to_aggregates_whose_metadata_match(cloud: CheckedCloud) -> None:
    fast = _flavor(cloud, **{"aggregate_instance_extra_specs:disk": "<or> ssd <or> nvme"})
    with host_aggregate(cloud, [OTHER], disk="nvme"), host_aggregate(cloud, [HOST], disk="tape"):
        assert host_of(cloud.nova, boot(cloud, fast)) == OTHER
        assert NO_HOST in refused(cloud, fast)
        assert host_of(cloud.nova, boot(cloud, "whole")) == HOST
    assert NO_HOST in refused(cloud, fast)


@pytest.mark.parametrize("way", [one_by_one, in_one_request])
def test_soft_affinity_outweighs_free_capacity_by_its_multiplier(
    cloud: CheckedCloud, make_group: MakeGroup, way: Boot
) -> None:
    group = make_group("soft-affinity")
    boot(cloud, host=HOST)  # the other host has more free capacity from now on
    boot(cloud, hints={"group": group}, host=HOST)
    assert set(way(cloud, group, 3)) == {"ACTIVE"}
    assert members_by_host(cloud) == {HOST: 5}


def _flavor(cloud: CheckedCloud, **extra_specs: str) -> str:
    """Create a flavor that takes all of a host."""
    return cloud.nova.create_flavor(f"whole-{uuid.uuid4()}", 16, 512, 4, **extra_specs)
