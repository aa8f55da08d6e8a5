# SPDX-License-Identifier: Apache-2.0
"""Each operation on an instance in each status that it does not allow: a typed error, and nothing is changed.

The statuses are reached by the operations that lead there, on the way and at the end, and not written to records.
"""

from collections.abc import Callable, Collection
from dataclasses import replace
from typing import Any, NamedTuple

import pytest

from conductor.requests import moves
from conductor.requests.copies import abort, force_complete
from conductor.requests.moves import confirm, revert
from conductor.requests.requested_changes import apply_to_migrations
from conductor.store.migrations import MigrationRecord
from conductor.store.records import InstanceRecord
from rpcapi import errors, objects
from rpcapi.resources.statuses import InstanceStatus
from tests.support.conductor.simulated_cluster import (
    CTXT,
    LARGE,
    LIMITS,
    THREE,
    SimulatedCluster,
    migration_of,
    uuid_list,
)

GOOD, BAD = uuid_list(2)  # an ACTIVE instance, and the one in a wrong status, of one call
NUMBER = 2  # of the migrations that are requested in a wrong status

Operation = Callable[[SimulatedCluster, list[str]], Any]


def _play(*steps: Operation, settle: bool = False) -> Operation:
    """Return what executes steps, each but the last to its end; the last one is recorded, or settled."""

    def play(cluster: SimulatedCluster, uuids: list[str]) -> None:
        for number, step in enumerate(steps, 1):
            step(cluster, uuids)
            if settle or number < len(steps):
                cluster.settle()

    return play


def _build(cluster: SimulatedCluster, uuids: list[str]) -> None:
    cluster.build(uuids)


def _build_and_work(cluster: SimulatedCluster, uuids: list[str]) -> None:
    cluster.build(uuids)
    cluster.work()


def _build_what_fits_nowhere(cluster: SimulatedCluster, uuids: list[str]) -> None:
    cluster.build(uuids, objects.RequestSpec.of(resources={"VCPU": 99}))


def _live_migrate(number: int) -> Operation:
    def request(cluster: SimulatedCluster, uuids: list[str]) -> None:
        moves.live_migrate(cluster.conductors[0], CTXT, uuids, [migration_of(uuid, number) for uuid in uuids])

    return request


def _hard_reboot(cluster: SimulatedCluster, uuids: list[str]) -> None:
    cluster.reboot(uuids, hard=True)


# How an instance gets into each status.
ROUTES: dict[str, Operation] = {
    "SCHEDULING": _play(_build),
    "BUILDING": _play(_build_and_work),
    "ACTIVE": _play(_build, settle=True),
    "STOPPING": _play(_build, SimulatedCluster.stop),
    "SHUTOFF": _play(_build, SimulatedCluster.stop, settle=True),
    "STARTING": _play(_build, SimulatedCluster.stop, SimulatedCluster.start),
    "REBOOT": _play(_build, SimulatedCluster.reboot),
    "HARD_REBOOT": _play(_build, _hard_reboot),
    "REBUILD": _play(_build, SimulatedCluster.rebuild),
    "SHELVING": _play(_build, SimulatedCluster.shelve),
    "SHELVED": _play(_build, SimulatedCluster.shelve, settle=True),
    "OFFLOADING": _play(_build, SimulatedCluster.shelve, SimulatedCluster.offload),
    "SHELVED_OFFLOADED": _play(_build, SimulatedCluster.shelve, SimulatedCluster.offload, settle=True),
    "UNSHELVING": _play(_build, SimulatedCluster.shelve, SimulatedCluster.offload, SimulatedCluster.unshelve),
    "RESIZE": _play(_build, SimulatedCluster.migrate),
    "VERIFY_RESIZE": _play(_build, SimulatedCluster.migrate, settle=True),
    "REVERT_RESIZE": _play(_build, SimulatedCluster.migrate, SimulatedCluster.revert),
    "MIGRATING": _play(_build, _live_migrate(1)),
    "ERROR": _play(_build_what_fits_nowhere, settle=True),
    "DELETING": _play(_build, SimulatedCluster.delete),
    "DELETED": _play(_build, SimulatedCluster.delete, settle=True),
}


class Case(NamedTuple):
    """An operation, the statuses that it allows, and those in which nothing is left to do."""

    request: Operation
    allowed: Collection[str]
    unchanged: Collection[str] = ()


def _again(method: str, *args: Any) -> Operation:
    def request(cluster: SimulatedCluster, uuids: list[str]) -> None:
        migrations = [migration_of(uuid, NUMBER) for uuid in uuids]
        getattr(moves, method)(cluster.conductors[0], CTXT, uuids, migrations, *args)

    return request


def _end(change: Callable[[InstanceRecord, MigrationRecord], InstanceRecord | None]) -> Operation:
    """Return the end of the last migrations, or of ones that never were."""

    def request(cluster: SimulatedCluster, uuids: list[str]) -> None:
        apply_to_migrations(cluster.conductors[0], [migration_of(uuid) for uuid in uuids], change, "end")

    return request


def _evacuate(cluster: SimulatedCluster, uuids: list[str]) -> None:
    cluster.evacuate(uuids, series=NUMBER)


def _unshelve_on(cluster: SimulatedCluster, uuids: list[str]) -> None:
    cluster.unshelve(uuids, "h3")


SHELVED = ("SHELVING", "SHELVED", "OFFLOADING", "SHELVED_OFFLOADED")
CASES = {
    "migrate": Case(_again("migrate"), ["ACTIVE", "SHUTOFF"]),
    "migrate to a host": Case(_again("migrate", "h3"), ["ACTIVE", "SHUTOFF"]),
    "resize": Case(_again("resize", [LARGE]), ["ACTIVE", "SHUTOFF"]),
    "live-migrate": Case(_again("live_migrate"), ["ACTIVE"]),
    "evacuate": Case(_evacuate, []),
    "stop": Case(SimulatedCluster.stop, ["ACTIVE"], ["STOPPING", "SHUTOFF"]),
    "start": Case(SimulatedCluster.start, ["SHUTOFF"], ["STARTING", "ACTIVE"]),
    "reboot": Case(SimulatedCluster.reboot, ["ACTIVE"], ["REBOOT"]),
    "hard reboot": Case(_hard_reboot, ["ACTIVE", "SHUTOFF", "REBOOT"], ["HARD_REBOOT"]),
    "rebuild": Case(SimulatedCluster.rebuild, ["ACTIVE", "SHUTOFF"], ["REBUILD"]),
    "shelve": Case(SimulatedCluster.shelve, ["ACTIVE", "SHUTOFF"], SHELVED),
    "offload": Case(SimulatedCluster.offload, ["SHELVED"], ["OFFLOADING", "SHELVED_OFFLOADED"]),
    "unshelve": Case(SimulatedCluster.unshelve, ["SHELVED", "SHELVED_OFFLOADED"], ["UNSHELVING", "ACTIVE"]),
    "unshelve on a host": Case(_unshelve_on, ["SHELVED_OFFLOADED"], ["UNSHELVING", "ACTIVE"]),
    "confirm": Case(_end(confirm), ["VERIFY_RESIZE"]),
    "revert": Case(_end(revert), ["VERIFY_RESIZE"], ["REVERT_RESIZE"]),
    "abort": Case(_end(abort), ["MIGRATING"]),
    "force-complete": Case(_end(force_complete), []),
}
REFUSALS = (errors.InstanceConflict, errors.UnknownMigration, errors.HostIsUp)


def make_cluster(status: str) -> SimulatedCluster:
    """Return a cluster with an ACTIVE instance, and one in ``status``."""
    cluster = SimulatedCluster(THREE, replace(LIMITS, shelved_offload_ms=None))
    cluster.conductor()
    cluster.build([GOOD])
    cluster.settle()
    ROUTES[status](cluster, [BAD])
    assert cluster.record(BAD).status == status
    return cluster


def everything(cluster: SimulatedCluster) -> list[Any]:
    """Return all records, claims and messages: what a refused call must not change."""
    claims, _marker = cluster.ledger.store.claims()
    return [
        cluster.store.get([GOOD, BAD]),
        cluster.store.page_migrations(None, 100),
        cluster.store.usage("project"),
        claims,
        cluster.ledger.live(),
        list(cluster.hosts.casts),
        len(cluster.hosts.queue),
    ]


def test_all_statuses_have_a_route() -> None:
    assert set(ROUTES) == {status.value for status in InstanceStatus}


@pytest.mark.parametrize("status", ROUTES)
@pytest.mark.parametrize("name", CASES)
def test_operation_in_a_wrong_status_is_refused_and_nothing_is_changed(name: str, status: str) -> None:
    case, cluster = CASES[name], make_cluster(status)
    before = everything(cluster)
    if status in case.unchanged:
        case.request(cluster, [BAD])
        assert everything(cluster) == before
    elif status in case.allowed:
        case.request(cluster, [BAD])
        assert cluster.store.get([BAD]) != before[0][BAD]
    else:
        uuids = [GOOD, BAD] if "ACTIVE" in (*case.allowed, *case.unchanged) else [BAD]
        with pytest.raises(REFUSALS):
            case.request(cluster, uuids)
        assert everything(cluster) == before


@pytest.mark.parametrize(
    ("host", "error"),
    [
        ("h1", errors.InvalidRequest),
        ("h1/n", errors.InvalidRequest),
        ("h9", errors.UnknownHost),
        ("h2/m", errors.UnknownHost),
        ("h2", errors.NoValidHost),
        ("a|b", errors.InvalidName),
    ],
    ids=["source", "source node", "unknown", "unknown node", "full", "no name"],
)
@pytest.mark.parametrize("method", ["migrate", "live_migrate"])
def test_target_that_cannot_take_it_is_refused_and_nothing_is_changed(
    method: str, host: str, error: type[Exception]
) -> None:
    cluster = make_cluster("ACTIVE")
    cluster.scheduler.full.add("h2/n")
    assert cluster.record(GOOD).host == "h1/n"
    before = everything(cluster)
    with pytest.raises(error):
        _again(method, host)(cluster, [GOOD])
    assert everything(cluster) == before


@pytest.mark.parametrize("end", ["confirm", "revert"])
def test_move_that_has_ended_cannot_end_otherwise_and_its_repeated_end_changes_nothing(end: str) -> None:
    cluster = make_cluster("VERIFY_RESIZE")
    getattr(cluster, end)([BAD])
    cluster.settle()
    before = everything(cluster)
    changes = {"confirm": confirm, "revert": revert}
    _end(changes.pop(end))(cluster, [BAD])
    assert everything(cluster) == before
    for other in (*changes.values(), abort, force_complete):
        with pytest.raises(REFUSALS):
            _end(other)(cluster, [BAD])
        assert everything(cluster) == before
    cluster.check([GOOD, BAD])
