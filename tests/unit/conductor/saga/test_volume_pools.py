# SPDX-License-Identifier: Apache-2.0
"""The pools of volumes that were made with a server, for requests for another host."""

import itertools
from types import SimpleNamespace

import pytest

from conductor.saga.destinations import destination_spec, unshelve_spec
from conductor.saga.step_context import SagaLimits, StepContext
from conductor.saga.volume_pools import keep_pools
from conductor.store.migrations import MigrationRecord
from conductor.store.records import BuildRequestRecord, InstanceRecord
from rpcapi import objects
from rpcapi.resources.statuses import MigrationKind

SMALL = {"VCPU": 1, "DISK_GB": 3}
HOST = "compute0/node0"
BANDWIDTH = {"NET_BW_EGR_KILOBIT_PER_SEC": 5}


def volume_spec(*sizes: int, **in_tree: str) -> objects.RequestSpec:
    """Return the spec of a server with new volumes ``v0``, ``v1`` ...; ``in_tree`` names the pools of some."""
    groups = {f"v{number}": {"resources": {"DISK_GB": size}} for number, size in enumerate(sizes)}
    for suffix, pool in in_tree.items():
        groups[suffix]["in_tree"] = pool
    volumes = [{"size_gb": size, "group": f"v{number}"} for number, size in enumerate(sizes)]
    return objects.RequestSpec.of(resources=SMALL, groups=groups, groups_policy="none", volumes=volumes)


def allocations(**pools: int) -> dict[str, dict[str, int]]:
    return {HOST: SMALL, **{f"{pool}/node0": {"DISK_GB": size} for pool, size in pools.items()}}


def pools_of(spec: objects.RequestSpec) -> list[str | None]:
    return [group.get("in_tree") for group in spec.groups.values()]


@pytest.mark.parametrize("host", [HOST, None])
@pytest.mark.parametrize(
    ("sizes", "pools", "expected"),
    [
        ((10,), {"p0": 10}, ["p0"]),
        ((10, 20), {"p0": 20, "p1": 10}, ["p1", "p0"]),
        ((10, 20), {"p0": 30}, ["p0", "p0"]),
        ((5, 7, 8), {"p0": 12, "p1": 8}, ["p0", "p0", "p1"]),
    ],
)
def test_volumes_stay_on_the_pools_that_have_their_amounts(host, sizes, pools, expected):
    spec = keep_pools(volume_spec(*sizes), host, allocations(**pools))
    assert pools_of(spec) == [f"{pool}/node0" for pool in expected]


def test_volume_whose_pool_was_named_leaves_the_others_the_rest():
    spec = keep_pools(volume_spec(10, 20, v1="p0/node0"), HOST, allocations(p0=30))
    assert pools_of(spec) == ["p0/node0", "p0/node0"]


def test_providers_of_the_host_and_of_ports_are_no_pools():
    spec = volume_spec(3)
    groups = {**spec.groups, "port": {"resources": BANDWIDTH}}
    spec = spec.with_values(groups=groups, ports=[{"physnet": "net0", "group": "port"}])
    providers = {
        HOST: {"VCPU": 1},
        "compute0/disk": {"DISK_GB": 3},
        "p1/node0": {"DISK_GB": 3},
        "net0/node0": BANDWIDTH,
    }
    assert pools_of(keep_pools(spec, HOST, providers)) == ["p1/node0", None]


@pytest.mark.parametrize("present", [None, {}, {HOST: SMALL}, {HOST: SMALL, "p0/node0": {"DISK_GB": 11}}])
def test_claim_that_does_not_match_changes_nothing(present):
    spec = volume_spec(10)
    assert keep_pools(spec, HOST, present) is spec


def test_volume_that_claims_nothing_stays_where_nothing_is_claimed():
    spec = volume_spec(10).with_values(groups={"v0": {"required": ["CUSTOM_FAST"]}})
    assert pools_of(keep_pools(spec, HOST, {HOST: SMALL, "p0/node0": {}})) == ["p0/node0"]


def test_server_without_new_volumes_is_not_changed():
    spec = objects.RequestSpec.of(resources=SMALL, volumes=[{"pool": "p0/node0"}])
    assert keep_pools(spec, HOST, allocations(p0=10)) is spec


def test_claim_of_many_volumes_without_a_match_is_given_up():
    # Given so many choices that looking through all of them would not end
    spec = volume_spec(*[2] * 40)
    assert keep_pools(spec, HOST, allocations(**{f"p{number}": 9 for number in range(9)})) is spec


@pytest.mark.parametrize("kind", MigrationKind)
def test_move_of_any_kind_keeps_the_pools(kind):
    migration = MigrationRecord("m", "i", kind, source_host=HOST, source_allocations=allocations(p1=10))
    assert pools_of(destination_spec(volume_spec(10), migration, "p")) == ["p1/node0"]


def test_unshelved_server_goes_to_its_volumes():
    for target in (None, "compute1/node0"):
        spec = unshelve_spec(volume_spec(10), target, allocations(p1=10))
        assert pools_of(spec) == ["p1/node0"]
        assert spec.requested_destination == ({} if target is None else {"host": target})


@pytest.mark.parametrize(("is_shelved", "pools"), [(True, ["p1/node0"]), (False, [None])])
def test_server_that_never_ran_may_have_its_volumes_anywhere(is_shelved, pools):
    """An alternate of a build that failed need not reach the pool of the failed attempt."""
    request = BuildRequestRecord("r", "req-1", "p", "u", "small", volume_spec(10).obj_to_primitive())
    instance = InstanceRecord("i", "r", allocations=allocations(p1=10), is_shelved=is_shelved)
    context = StepContext(SimpleNamespace(), SagaLimits(), request, now_ms=1)
    assert pools_of(context.destination_spec(instance)) == pools


def test_every_assignment_of_volumes_to_pools_is_found_again():
    sizes = (1, 2, 4)
    for pools in itertools.product(("p0", "p1", "p2"), repeat=len(sizes)):
        sums = {pool: sum(size for size, other in zip(sizes, pools, strict=True) if other == pool) for pool in pools}
        spec = keep_pools(volume_spec(*sizes), HOST, allocations(**sums))
        assert pools_of(spec) == [f"{pool}/node0" for pool in pools]
