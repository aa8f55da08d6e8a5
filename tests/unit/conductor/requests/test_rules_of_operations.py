# SPDX-License-Identifier: Apache-2.0
"""Which rules of a request hold for which operation: the table in docs/requests.md, cell by cell.

A rule is checked with the new flavor or image, or the operation selects with the recorded request, which was checked.
"""

from collections.abc import Callable
from typing import Any

import pytest

from conductor.requests import moves
from conductor.saga.step_context import load_spec
from conductor.store.memory import MemoryConductorStore
from conductor.store.records import StoreTimeouts
from rpcapi import errors, objects
from rpcapi.objects.request_schema import check_spec
from tests.support.conductor.simulated_cluster import CTXT, LEASE_MS, SimulatedCluster, migration_of, uuid_list

(SERVER,) = uuid_list(1)
IMAGE: dict[str, Any] = {"id": "i", "properties": {"hw_disk_bus": "virtio"}, "min_ram_mb": 64, "min_disk_gb": 4}
SPEC = objects.RequestSpec.of(
    resources={"VCPU": 1},
    flavor="tiny",
    flavor_amounts={"VCPU": 1, "MEMORY_MB": 64, "DISK_GB": 4},
    extra_specs={"hw:tpm_version": "2.0"},
    image=IMAGE,
    required_traits=["COMPUTE_SECURITY_TPM_2_0", "COMPUTE_SECURITY_TPM_TIS", "CUSTOM_SSD"],
    forbidden_traits=["CUSTOM_BAD"],
    availability_zone="east",
    hints={"colour": "red"},
    member_of=[["rack1"]],
)
# The fields of a request that no operation other than a resize or rebuild changes.
PLACEMENT = ("availability_zone", "hints", "member_of", "driver", "service")
RECORDED = (
    *PLACEMENT,
    "flavor",
    "flavor_amounts",
    "extra_specs",
    "image",
    "resources",
    "required_traits",
    "forbidden_traits",
)


@pytest.fixture
def cluster() -> SimulatedCluster:
    """A cluster with an ACTIVE server."""
    created = SimulatedCluster({"h1/n": 4, "h2/n": 4, "h3/n": 4})
    created.conductor()
    created.build([SERVER], SPEC)
    created.settle()
    return created


def recorded_spec(cluster: SimulatedCluster) -> objects.RequestSpec:
    record = cluster.record(SERVER)
    return load_spec(record.spec or cluster.store.requests([record.request])[record.request].spec)


def values(spec: objects.RequestSpec, fields: tuple[str, ...] = RECORDED) -> dict[str, Any]:
    return {name: getattr(spec, name) for name in fields}


# -- operations with a new flavor or image: the rules are checked --------------------------------------------------


def boot(cluster: SimulatedCluster, **changes: Any) -> None:
    cluster.build(["00000000-0000-4000-8000-0000000000ff"], SPEC.with_values(**changes))


def resize(cluster: SimulatedCluster, **changes: Any) -> None:
    flavor = {"flavor": "other", "flavor_amounts": {"VCPU": 2, "MEMORY_MB": 64, "DISK_GB": 4}}
    cluster.resize([SERVER], SPEC.with_values(**{**flavor, **changes}))


def rebuild(cluster: SimulatedCluster, **image: Any) -> None:
    cluster.rebuild([SERVER], {**IMAGE, **image})


SMALL_MEMORY = {"flavor_amounts": {"VCPU": 2, "MEMORY_MB": 63, "DISK_GB": 4}}
SMALL_DISK = {"flavor_amounts": {"VCPU": 2, "MEMORY_MB": 64, "DISK_GB": 3}}
REFUSED: list[tuple[Callable[..., None], dict[str, Any], str]] = [
    (boot, SMALL_MEMORY, "image 'i' needs 64 MiB of memory"),
    (boot, SMALL_DISK, "image 'i' needs 4 GiB of disk"),
    (boot, {"image": {**IMAGE, "min_ram_mb": 65}}, "image 'i' needs 65 MiB of memory"),
    (boot, {"required_traits": ["NOPE"]}, "Unknown trait"),
    (boot, {"availability_zone": " east"}, "availability_zone must be 1 to 255 printable characters"),
    (resize, SMALL_MEMORY, "image 'i' needs 64 MiB of memory"),
    (resize, SMALL_DISK, "a resize shrinks no disk"),
    (resize, {"image": {}}, "no spec of the new flavor has the image"),
    (resize, {"required_traits": ["NOPE"]}, "Unknown trait"),
    (resize, {"flavor_amounts": SPEC.flavor_amounts, "flavor": "tiny"}, "already has flavor"),
    (rebuild, {"min_ram_mb": 65}, "image 'i' needs 65 MiB of memory"),
    (rebuild, {"min_disk_gb": 5}, "image 'i' needs 5 GiB of disk"),
    (rebuild, {"properties": {"hw_tpm_version": "1.2"}}, "does not allow this image value"),
    (rebuild, {"properties": {"trait:CUSTOM_A": "required"}}, "the image changes required_traits"),
    (rebuild, {"properties": {"": "x"}}, "must be 1 to 255 characters"),
]


@pytest.mark.parametrize(("operation", "changes", "why"), REFUSED)
def test_rule_is_checked_with_the_new_flavor_or_image(
    cluster: SimulatedCluster, operation: Callable[..., None], changes: dict[str, Any], why: str
) -> None:
    before = cluster.store.get([SERVER])
    with pytest.raises(errors.InvalidRequest, match=why):
        operation(cluster, **changes)
    assert cluster.store.get([SERVER]) == before


def test_resize_keeps_placement_and_image(cluster: SimulatedCluster) -> None:
    resize(cluster, availability_zone="west", hints={}, member_of=[])
    cluster.settle()
    fields = (*PLACEMENT, "image")
    assert values(cluster.scheduler.specs[-1], fields) == values(SPEC, fields)
    assert cluster.scheduler.specs[-1].flavor == "other"


def test_resize_keeps_the_traits_that_the_boot_requested(cluster: SimulatedCluster) -> None:
    resize(cluster, extra_specs={}, required_traits=["CUSTOM_NEW"], forbidden_traits=["CUSTOM_OLD"])
    cluster.settle()
    selected = cluster.scheduler.specs[-1]
    assert selected.required_traits == ["CUSTOM_NEW", "CUSTOM_SSD"]
    assert selected.forbidden_traits == ["CUSTOM_OLD", "CUSTOM_BAD"]


def test_rebuild_keeps_everything_but_the_image(cluster: SimulatedCluster) -> None:
    selections = len(cluster.scheduler.specs)
    rebuild(cluster, min_ram_mb=32)
    cluster.settle()
    assert values(recorded_spec(cluster)) == values(SPEC.with_values(image={**IMAGE, "min_ram_mb": 32}))
    assert len(cluster.scheduler.specs) == selections


def test_resize_during_a_rebuild_is_not_overwritten(cluster: SimulatedCluster) -> None:
    dry_run = cluster.scheduler.dry_run

    def resize_first(*arguments: Any, **options: Any) -> Any:
        cluster.scheduler.dry_run = dry_run  # type: ignore[method-assign]
        resize(cluster, resources={"VCPU": 2})
        cluster.settle()
        cluster.confirm([SERVER])
        cluster.settle()
        return dry_run(*arguments, **options)

    cluster.scheduler.dry_run = resize_first  # type: ignore[method-assign]
    with pytest.raises(errors.InstanceConflict, match="it was resized or rebuilt at the same time; retry"):
        rebuild(cluster, id="other")
    assert values(recorded_spec(cluster), ("flavor", "resources")) == {"flavor": "other", "resources": {"VCPU": 2}}
    rebuild(cluster, id="other")
    cluster.settle()
    rebuilt = recorded_spec(cluster)
    assert (rebuilt.flavor, rebuilt.resources, rebuilt.image["id"]) == ("other", {"VCPU": 2}, "other")


# -- operations that select with the recorded request --------------------------------------------------------------


def migrate(cluster: SimulatedCluster) -> None:
    cluster.migrate([SERVER])


def live_migrate(cluster: SimulatedCluster) -> None:
    def check_migrations(*_arguments: Any, **_values: Any) -> None:
        raise errors.NotReady(what="The agent", why="it copies nothing in this test")

    cluster.hosts.check_migrations = check_migrations  # type: ignore[attr-defined]  # the selection comes before
    moves.live_migrate(cluster.conductors[0], CTXT, [SERVER], [migration_of(SERVER)])


def evacuate(cluster: SimulatedCluster) -> None:
    cluster.lose_host(cluster.record(SERVER).host.partition("/")[0])  # type: ignore[union-attr]  # it is on a host
    cluster.compare()
    cluster.evacuate([SERVER])


def unshelve(cluster: SimulatedCluster) -> None:
    cluster.shelve([SERVER])
    cluster.settle()
    cluster.unshelve([SERVER])


def rebuild_without_host(cluster: SimulatedCluster) -> None:
    cluster.lose_host(cluster.record(SERVER).host.partition("/")[0])  # type: ignore[union-attr]  # it is on a host
    cluster.compare()
    cluster.rebuild([SERVER])


@pytest.mark.parametrize("operation", [migrate, live_migrate, evacuate, unshelve, rebuild_without_host])
@pytest.mark.parametrize("changed", ["", "resized", "rebuilt"])
def test_recorded_request_is_selected_again(
    cluster: SimulatedCluster, operation: Callable[[SimulatedCluster], None], changed: str
) -> None:
    if changed == "resized":
        cluster.resize([SERVER], SPEC.with_values(flavor="other"), migrations=[migration_of(SERVER, 2)])
        cluster.settle()
        cluster.confirm([SERVER])
    elif changed == "rebuilt":
        rebuild(cluster, id="other", min_ram_mb=32)
    cluster.settle()
    expected = recorded_spec(cluster)
    assert (expected.flavor, expected.image["id"]) == (
        "other" if changed == "resized" else "tiny",
        "other" if changed == "rebuilt" else "i",
    )
    selections = len(cluster.scheduler.specs)
    operation(cluster)
    cluster.settle()
    selected = cluster.scheduler.specs[selections:]
    assert selected and all(values(spec) == values(expected) for spec in selected)
    for spec in selected:
        check_spec(spec)


@pytest.mark.parametrize("operation", [resize, migrate, live_migrate, evacuate, unshelve])
def test_forced_and_ignored_hosts_hold_for_the_boot_only(operation: Callable[..., None]) -> None:
    cluster = SimulatedCluster({"h1/n": 4, "h2/n": 4, "h3/n": 4})
    cluster.conductor()
    cluster.build([SERVER], SPEC.with_values(force_hosts=["h1"], ignore_hosts=["h2"]))
    cluster.settle()
    booted = cluster.scheduler.specs[-1]
    assert (booted.force_hosts, booted.ignore_hosts) == (["h1"], ["h2"])
    operation(cluster)
    cluster.settle()
    moved = cluster.scheduler.specs[-1]
    assert moved.force_hosts == []
    assert "h2" not in moved.ignore_hosts


def test_adopted_server_has_the_amounts_of_its_claim(cluster: SimulatedCluster) -> None:
    host = cluster.record(SERVER).host
    cluster.store = MemoryConductorStore(StoreTimeouts(lease_ms=LEASE_MS), clock=lambda: cluster.now_ms)
    cluster.conductors.clear()
    cluster.conductor()
    cluster.adopt(str(host).partition("/")[0], [SERVER])
    adopted = recorded_spec(cluster)
    assert (adopted.resources, adopted.image, adopted.flavor_amounts) == ({"VCPU": 1}, {}, {})
    check_spec(adopted)
