# SPDX-License-Identifier: Apache-2.0
"""A conductor, or the agents of both ends, are killed after a call on the way of each move: it ends as if not."""

import itertools
import uuid
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import pytest

from devstack.cluster_size import ClusterSize, Mode
from rpcapi import errors, objects
from rpcapi.resources.names import host_of
from rpcapi.resources.statuses import ENDED_MIGRATIONS
from tests.chaos.conftest import Rigged
from tests.support.clusters import booting, clusters, truth
from tests.support.clusters.clusters import RunningCluster
from tests.support.clusters.impatient import IMPATIENT
from tests.support.stride import in_turn

STORE = "conductor.store.redis:RedisConductorStore"
COMPUTE = "rpcapi.clients.compute:ComputeAPI"
CLAIMS = "rpcapi.clients.claims:ClaimsAPI"
HYPERVISOR = "compute_agent.simulator.hypervisor:Hypervisor"
# The calls by which each of them changes something outside itself.
CALLS = {
    "conductor": (
        *(f"{STORE}.{name}" for name in ("record", "write", "write_without_lease")),
        *(f"{COMPUTE}.{name}" for name in ("build_instances", "terminate_instances", "change_guests")),
        *(f"{COMPUTE}.{name}" for name in ("operate_guests", "prepare_incoming", "copy_guests")),
        *(f"{CLAIMS}.{name}" for name in ("begin_moves", "end_moves")),
        "rpcapi.clients.scheduler:SchedulerAPI.select_destinations",
    ),
    "compute": (
        "compute_agent.attempts.journal_file:JournalFile.append",
        *(f"{HYPERVISOR}.{name}" for name in ("spawn", "receive", "pause", "begin_copy", "power_off")),
        *(f"{HYPERVISOR}.{name}" for name in ("rebuild", "stop")),
        *(f"{CLAIMS}.{name}" for name in ("confirm_claims", "release_claims")),
        "rpcapi.clients.conductor:ConductorAPI.report_builds",
    ),
}
SETTLED = {"ACTIVE", "SHUTOFF", "VERIFY_RESIZE", "SHELVED_OFFLOADED", "ERROR", "DELETED"}
MOST_CALLS = 60  # of one move; more would mean that it never ends
FAST_COPY = {"simulator": {"copy_rate": 1000, "dirty_rate": 10}}


class Request(NamedTuple):
    """A request to a conductor, of a server or of its migration; ``resources`` are those of a resize.

    The next one follows when the server has settled, unless ``is_overtaken``.
    """

    method: str
    of_migration: bool = False
    needs_migration: bool = False
    resources: dict[str, int] | None = None
    is_overtaken: bool = False

    def send(self, cluster: RunningCluster, server: str, migration: str) -> bool:
        """Return whether it was accepted, or is not possible any more because the move has moved back."""
        arguments: list[Any] = [[migration if self.of_migration else server]]
        if self.needs_migration:
            arguments.append([migration])
        if self.resources is not None:
            arguments.append(objects.RequestSpec.of(flavor="other", resources=self.resources))
        cluster.session.new_request()
        try:
            cluster.session.call(getattr(cluster.session.conductor, self.method), *arguments)
        except errors.HostIsUp:
            return False  # it has not learned of the fence
        except errors.InstanceConflict:
            if status_of(cluster, migration) not in ENDED_MIGRATIONS:
                raise
        return True


class Move(NamedTuple):
    """Requests that follow each other, and whether the server is on another host in the end; None: it is deleted."""

    requests: Sequence[Request]
    is_elsewhere: bool | None
    is_fenced: bool = False


MIGRATE = Request("migrate_instances", needs_migration=True)
RESIZE = Request("resize_instances", needs_migration=True, resources={"VCPU": 2, "MEMORY_MB": 64, "DISK_GB": 1})
MOVES = {
    "migrate, confirm": Move([MIGRATE, Request("confirm_migrations", of_migration=True)], is_elsewhere=True),
    "resize, revert": Move([RESIZE, Request("revert_migrations", of_migration=True)], is_elsewhere=False),
    "migrate, delete": Move([MIGRATE._replace(is_overtaken=True), Request("delete_instances")], is_elsewhere=None),
    "live-migrate": Move([Request("live_migrate_instances", needs_migration=True)], is_elsewhere=True),
    "evacuate": Move([Request("evacuate_instances", needs_migration=True)], is_elsewhere=True, is_fenced=True),
    "shelve, unshelve": Move([Request("shelve_instances"), Request("unshelve_instances")], is_elsewhere=False),
    "stop, start": Move([Request("stop_instances"), Request("start_instances")], is_elsewhere=False),
    "rebuild": Move([Request("rebuild_instances")], is_elsewhere=False),
}


@pytest.fixture(scope="module", params=[Mode.EMBEDDED, pytest.param(Mode.STANDARD, marks=pytest.mark.long)])
def cluster(request: pytest.FixtureRequest) -> Iterator[RunningCluster]:
    """Two hosts of three nodes, whose simulated copies are short, on either bus."""
    size = clusters.with_mode(request.param, ClusterSize(computes=2, nodes_per_host=3))
    with clusters.running_cluster(size, IMPATIENT | {"compute": IMPATIENT["compute"] | FAST_COPY}) as running:
        yield running


def status_of(cluster: RunningCluster, migration: str) -> str | None:
    """Return the status of a migration, None of one that is not recorded."""
    try:
        page = cluster.session.call(cluster.session.conductor.get_migrations, [migration])
    except errors.UnknownMigration:
        return None
    return str(page.migrations[0].status)


def settled(cluster: RunningCluster, server: str) -> objects.Instance:
    """Wait until no change of a server is under way."""

    def record() -> objects.Instance | None:
        (instance,) = truth.records(cluster, [server])
        return instance if instance.status in SETTLED else None

    return truth.until("the server has settled", record)


def is_met(cluster: RunningCluster, rigged: Rigged, move: Move, daemon: str, nth: int) -> bool:
    """Move a server while the daemon dies after its nth call; return whether it made so many."""
    server = booting.boot(cluster)
    assert server.status == "ACTIVE", server.reason
    migration = str(uuid.uuid4())
    met = rigged(daemon, CALLS[daemon], when="after", nth=nth)
    if move.is_fenced:
        token = uuid.uuid4().hex
        truth.until("the fence", lambda: fence(cluster, host_of(server.host), token))
    for request in move.requests:
        truth.until(request.method, lambda request=request: request.send(cluster, server.uuid, migration))
        if not request.is_overtaken:
            settled(cluster, server.uuid)
    assert_ended(cluster, server, migration, move)
    if daemon == "conductor":
        assert_nothing_failed(cluster, server, migration, move)
    cluster.session.call(cluster.session.conductor.delete_instances, [server.uuid])
    truth.until("the server is deleted", lambda: settled(cluster, server.uuid).status == "DELETED")
    return met.exists()


def fence(cluster: RunningCluster, host: str, token: str) -> bool:
    cluster.session.call(cluster.session.claims.fence_host, host, token, force=True)
    return True


def assert_ended(cluster: RunningCluster, server: objects.Instance, migration: str, move: Move) -> None:
    """Assert that the server runs once under one claim, or is gone, and that its migration holds nothing."""
    if move.is_elsewhere is None:
        assert settled(cluster, server.uuid).status == "DELETED"
        truth.until("nothing runs", lambda: not [key for key in truth.guests(cluster) if key[0] == server.uuid])
    else:
        (ended,) = truth.assert_consistent(cluster, [server.uuid])
        assert ended.status == "ACTIVE", ended.reason
    roles = [] if move.is_elsewhere is None else ["only"]
    session = cluster.session

    def claims() -> list[dict[str, Any]]:
        return session.call(session.claims.list_claims, None, server.uuid).claims

    truth.until("no claim is an end of the move", lambda: [claim["role"] for claim in claims()] == roles)
    assert status_of(cluster, migration) in {None, *ENDED_MIGRATIONS}
    assert cluster.session.call(cluster.session.claims.verify).clean


def assert_nothing_failed(cluster: RunningCluster, server: objects.Instance, migration: str, move: Move) -> None:
    """Assert that the move has succeeded: the death of a conductor fails nothing."""
    assert status_of(cluster, migration) != "error"
    (ended,) = truth.records(cluster, [server.uuid])
    if move.is_elsewhere:
        assert host_of(ended.host) != host_of(server.host) or not move.is_fenced
        assert ended.host != server.host


SAMPLE = [
    ("migrate, confirm", "conductor", 4),
    ("resize, revert", "compute", 6),
    ("live-migrate", "compute", 8),
    ("evacuate", "conductor", 3),
]


@pytest.mark.timeout(300)
@pytest.mark.parametrize("death", in_turn(SAMPLE), ids=lambda death: f"{death[0]}-{death[1]}")
def test_death_after_one_call(cluster: RunningCluster, rigged: Rigged, death: tuple[str, str, int]) -> None:
    name, daemon, nth = death
    assert is_met(cluster, rigged, MOVES[name], daemon, nth)


@pytest.mark.long
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("daemon", CALLS)
@pytest.mark.parametrize("name", MOVES)
def test_death_after_each_call(cluster: RunningCluster, rigged: Rigged, name: str, daemon: str) -> None:
    last = next(nth for nth in itertools.count(1) if not is_met(cluster, rigged, MOVES[name], daemon, nth))
    assert 3 < last < MOST_CALLS
