# SPDX-License-Identifier: Apache-2.0
"""Traits of hosts that a flavor or an image requires or forbids, and rebuilds with an image that the host lacks."""

import uuid
from collections.abc import Iterator

import pytest
import requests

from devstack.nova.client import wait_until
from devstack.nova.fakes.glance import IMAGES
from tests.nova.actions import boot, host_of, provider_of, refused, traits_of
from tests.nova.conftest import require_equal
from tests.support.nova.checked_cloud import CheckedCloud

HOST = "host2"
GOLD = "CUSTOM_GOLD_OF_A_TEST"
NO_HOST = "No valid host was found"
WHOLE = (16, 512, 4)
SECONDS = 30


@pytest.fixture
def golden_host(cloud: CheckedCloud) -> Iterator[str]:
    """The only host with a trait of the operator's."""
    cloud.placement.call("PUT", f"/traits/{GOLD}")
    set_traits(cloud, {*traits_of(cloud, HOST), GOLD})
    yield HOST
    set_traits(cloud, {*traits_of(cloud, HOST)} - {GOLD})
    cloud.placement.call("DELETE", f"/traits/{GOLD}")


def set_traits(cloud: CheckedCloud, traits: set[str]) -> None:
    """Store the traits of the host; its compute writes to the provider too."""
    path = f"/resource_providers/{provider_of(cloud, HOST)}"

    def is_stored() -> bool:
        generation = {"resource_provider_generation": cloud.placement.get(path)["generation"]}
        cloud.placement.call("PUT", f"{path}/traits", {"traits": sorted(traits), **generation})
        return True

    wait_until(is_stored, f"the traits of {HOST}")


def flavor(cloud: CheckedCloud, **extra_specs: str) -> str:
    """Create a flavor that takes all of a host."""
    return cloud.nova.create_flavor(f"whole-{uuid.uuid4()}", *WHOLE, **extra_specs)


def image(cloud: CheckedCloud, **properties: str) -> str:
    """Create an image with properties and return its id."""
    url = f"{cloud.parts.urls.fakes}/image/v2/images"
    answer = requests.post(url, json={"name": "image", **properties}, timeout=SECONDS)
    answer.raise_for_status()
    identity: str = answer.json()["id"]
    return identity


def test_flavor_that_requires_a_trait_fills_the_hosts_that_have_it(cloud: CheckedCloud, golden_host: str) -> None:
    golden = flavor(cloud, **{f"trait:{GOLD}": "required"})
    assert host_of(cloud.nova, boot(cloud, golden)) == golden_host
    assert NO_HOST in refused(cloud, golden)


def test_flavor_that_forbids_a_trait_fills_the_hosts_that_lack_it(cloud: CheckedCloud, golden_host: str) -> None:
    plain = flavor(cloud, **{f"trait:{GOLD}": "forbidden"})
    hosts = {host_of(cloud.nova, boot(cloud, plain)) for _ in range(cloud.size.computes - 1)}
    assert hosts == {*cloud.size.hosts} - {golden_host}
    assert NO_HOST in refused(cloud, plain)


def test_image_that_requires_a_trait_fills_the_hosts_that_have_it(cloud: CheckedCloud, golden_host: str) -> None:
    golden = image(cloud, **{f"trait:{GOLD}": "required"})
    assert host_of(cloud.nova, boot(cloud, "whole", imageRef=golden)) == golden_host
    assert NO_HOST in refused(cloud, "whole", imageRef=golden)


def test_trait_that_the_flavor_forbids_and_the_image_requires_is_refused(cloud: CheckedCloud, golden_host: str) -> None:
    golden = image(cloud, **{f"trait:{GOLD}": "required"})
    plain = flavor(cloud, **{f"trait:{GOLD}": "forbidden"})
    assert NO_HOST in refused(cloud, plain, imageRef=golden)


def test_server_stays_with_the_trait_when_it_moves(cloud: CheckedCloud, golden_host: str) -> None:
    golden = cloud.nova.create_flavor(f"golden-{uuid.uuid4()}", 1, 512, 4, **{f"trait:{GOLD}": "required"})
    server = boot(cloud, golden)
    before = cloud.placement.allocations(server)
    cloud.nova.act(server, "migrate", {"host": None})
    cloud.nova.wait_for([server], "ACTIVE")
    require_equal(cloud)
    assert (host_of(cloud.nova, server), cloud.placement.allocations(server)) == (golden_host, before)


@pytest.mark.parametrize("host", [HOST, "host1"])
def test_rebuild_is_refused_where_the_host_lacks_the_trait(cloud: CheckedCloud, golden_host: str, host: str) -> None:
    server = boot(cloud, host=host)
    before = cloud.placement.allocations(server)
    cloud.nova.act(server, "rebuild", {"imageRef": image(cloud, **{f"trait:{GOLD}": "required"})})
    expected = "ACTIVE" if host == golden_host else "ERROR"
    (record,) = cloud.nova.wait_for([server], expected)
    assert NO_HOST in record.get("fault", {"message": NO_HOST})["message"]
    assert (record["image"]["id"] == IMAGES["cirros"]) == (expected == "ERROR")
    require_equal(cloud)
    assert cloud.placement.allocations(server) == before


@pytest.mark.parametrize(("name", "value"), [("hw_architecture", "aarch64"), ("img_hv_type", "xen")])
def test_rebuild_is_refused_where_the_host_cannot_run_the_image(cloud: CheckedCloud, name: str, value: str) -> None:
    server = boot(cloud)
    before = cloud.placement.allocations(server)
    foreign = image(cloud, **{name: value})
    assert NO_HOST in refused(cloud, imageRef=foreign)
    cloud.nova.act(server, "rebuild", {"imageRef": foreign})
    (record,) = cloud.nova.wait_for([server], "ERROR")
    assert NO_HOST in record["fault"]["message"]
    assert record["image"]["id"] == IMAGES["cirros"]
    require_equal(cloud)
    assert cloud.placement.allocations(server) == before
