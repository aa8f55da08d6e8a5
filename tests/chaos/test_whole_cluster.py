# SPDX-License-Identifier: Apache-2.0
"""A whole cluster changes at once: hosts are drained, others die and are evacuated, and servers boot, move and end."""

import collections
import dataclasses
import random
import uuid
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from devstack import exercise
from devstack.cluster_size import ClusterSize
from rpcapi import objects
from rpcapi.resources.statuses import ENDED_MIGRATIONS
from tests.chaos import cluster_callers as callers
from tests.support.clusters import clusters, truth
from tests.support.clusters.clusters import RunningCluster
from tests.support.clusters.other_agent import OtherAgent

READY_SECONDS = 240.0


@dataclasses.dataclass(frozen=True)
class Scale:
    """How many hosts and servers there are, and what happens to how many of them; ``batch`` boot together."""

    hosts: int
    servers: int
    drained: int
    killed: int
    resized: int
    live_migrated: int
    booted: int
    deleted: int
    batch: int
    is_fenced_first: bool  # before anything else begins, rather than when the hosts count as down

    def names(self, first: int, end: int) -> list[str]:
        """Names of hosts by number, as the cluster gives them."""
        digits = len(str(self.hosts - 1))
        return [f"compute{number:0{digits}d}" for number in range(first, end)]

    def pattern(self, first: int, end: int) -> str:
        """The same hosts as a pattern."""
        digits = len(str(self.hosts - 1))
        return f"compute[{first:0{digits}d}-{end - 1:0{digits}d}]"


SHORT = Scale(
    hosts=6,
    servers=12,
    drained=1,
    killed=1,
    resized=2,
    live_migrated=2,
    booted=6,
    deleted=3,
    batch=3,
    is_fenced_first=True,
)
LONG = Scale(
    hosts=40,
    servers=200,
    drained=10,
    killed=5,
    resized=50,
    live_migrated=50,
    booted=200,
    deleted=100,
    batch=10,
    is_fenced_first=False,
)


def options(scale: Scale) -> dict[str, Any]:
    """Return the services' options: what a dead host leaves unanswered is tried elsewhere soon.

    A host counts as down only after several reports, however slow the machine is. A build may meet each dead host once.
    """
    return {
        "scheduler": {
            "scheduler": {"claim_ttl": 10},
            "store": {"audit_grace": 2, "reap_interval": 0.5, "service_down_time": 8 if scale == SHORT else 30},
        },
        "conductor": {
            "conductor": {
                "build_timeout": 10,
                "recast_interval": 2,
                "reconcile_interval": 2,
                "pump_interval": 0.2,
                "max_attempts": scale.killed + 2,
            }
        },
        "compute": {
            "compute": {
                "hosts": scale.pattern(0, scale.hosts - scale.killed),
                "report_interval": 0.5 if scale == SHORT else 3,
                "retry_interval_max": 1,
            },
        },
    }


@pytest.fixture
def cluster(scale: Scale) -> Iterator[RunningCluster]:
    """All hosts, but for those that will be killed, which are not started yet."""
    size = ClusterSize(computes=scale.hosts, nodes_per_host=1, schedulers=1 if scale == SHORT else 2)
    with clusters.running_cluster(size, options(scale), ready=False) as running:
        yield running


@pytest.fixture
def mortal(cluster: RunningCluster, scale: Scale, tmp_path: Path) -> Iterator[OtherAgent]:
    """The agent of the hosts that will be killed."""
    survivors = scale.hosts - scale.killed
    agent = OtherAgent(cluster, tmp_path, scale.pattern(survivors, scale.hosts), scale.pattern(0, survivors))
    exercise.wait_for_nodes(cluster.session, scale.hosts, READY_SECONDS, lambda count: None)
    yield agent
    agent.kill()


@pytest.mark.timeout(3600)
@pytest.mark.parametrize(
    "scale", [pytest.param(SHORT, id="short"), pytest.param(LONG, marks=pytest.mark.long, id="long")]
)
def test_everything_ends_as_requested(cluster: RunningCluster, mortal: OtherAgent, scale: Scale) -> None:
    hosts = scale.names(0, scale.hosts)
    killed = hosts[-scale.killed :]
    # Given servers on all hosts
    servers = boot_on_each(cluster, hosts, scale.servers // scale.hosts)
    chance = random.Random(scale.servers)
    drained = chance.sample(hosts[: -scale.killed], scale.drained)
    uuids = chance.sample(servers, len(servers))
    if scale.is_fenced_first:  # what moves is not among those that are evacuated, which come last
        lost_servers = servers[-scale.killed * (scale.servers // scale.hosts) :]
        uuids.sort(key=lambda server: server in lost_servers)
    resized, uuids = uuids[: scale.resized], uuids[scale.resized :]
    live_migrated, uuids = uuids[: scale.live_migrated], uuids[scale.live_migrated :]
    deleted = uuids[: scale.deleted - scale.deleted // 2]  # and as many of those that boot
    # When all of this happens at once
    conf, refusals = cluster.cluster.client_conf, callers.Refusals()
    batches = [scale.batch] * (scale.booted // scale.batch)
    booter = callers.Booter(conf, refusals, batches, scale.deleted // 2)
    mortal.kill()
    if scale.is_fenced_first:
        for host in killed:
            assert callers.run_gantt(conf, "host", "fence", host, "--yes", "--force")[0] == 0
    run_together(
        [
            booter,
            callers.Evacuator(conf, refusals, killed),
            callers.Resizer(conf, refusals, resized),
            callers.LiveMigrater(conf, refusals, live_migrated),
            callers.Deleter(conf, refusals, deleted),
            *(callers.Drainer(conf, refusals, host) for host in drained),
        ]
    )
    expected = {*servers, *booter.booted} - {*deleted, *booter.deleted}
    assert len(expected) == scale.servers + scale.booted - scale.deleted
    wait_until_quiet(cluster, expected)
    # And what was on its way to a drained host has arrived, and is moved as well
    run_together([callers.Drainer(conf, refusals, host) for host in drained])
    # And the dead machines are repaired, with the disks that they had
    mortal.restart()
    exercise.wait_for_nodes(cluster.session, scale.hosts, READY_SECONDS, lambda count: None)
    truth.until("all sides agree", lambda: callers.run_gantt(conf, "audit", "-f", "json") == (0, []), READY_SECONDS)
    # Then each server is what was requested, where its record says
    flavors = dict.fromkeys(expected, callers.TINY) | dict.fromkeys(resized, callers.LARGE)
    assert_as_requested(cluster, flavors)
    assert callers.hosts_of(records(cluster).values()).isdisjoint({*drained, *killed})
    assert_moves_have_ended(cluster, scale)


def boot_on_each(cluster: RunningCluster, hosts: Sequence[str], count: int) -> list[str]:
    """Boot ``count`` servers on each host."""
    servers: list[str] = []
    for host in hosts:
        uuids = [str(uuid.uuid4()) for _ in range(count)]
        cluster.session.new_request()
        spec = callers.TINY.with_values(force_hosts=[host])
        cluster.session.call(cluster.session.conductor.build_instances, spec, uuids)
        servers += uuids
    for server in truth.wait_for_final_status(cluster, servers, READY_SECONDS):
        assert server.status == "ACTIVE", server.reason
    assert {*hosts} == callers.hosts_of(records(cluster).values())
    return servers


def run_together(all_callers: Sequence[callers.Caller]) -> None:
    """Run the callers at the same time; raise the error of the first that failed."""
    with ThreadPoolExecutor(len(all_callers)) as executor:
        for future in [executor.submit(caller.run) for caller in all_callers]:
            future.result()


def wait_until_quiet(cluster: RunningCluster, expected: set[str]) -> None:
    """Wait until exactly the expected servers are there, all of them ACTIVE or in ERROR, and no move is under way."""
    patience = callers.Patience("servers and moves")
    while True:
        servers = records(cluster)
        changing = {item.uuid: item.status for item in servers.values() if item.status not in exercise.FINAL_STATUSES}
        surplus = servers.keys() - expected
        moving = [item.uuid for item in migrations(cluster) if item.status not in ENDED_MIGRATIONS]
        if not changing and not surplus and not moving:
            return
        patience.wait((sorted(changing.items()), sorted(surplus), moving))


def assert_as_requested(cluster: RunningCluster, flavors: dict[str, objects.RequestSpec]) -> None:
    """Assert that records, guests and claims are those of servers of these flavors, and that the sums are exact."""
    servers = records(cluster)
    assert {item.uuid: (item.status, item.flavor, item.reason) for item in servers.values()} == {
        server: ("ACTIVE", flavor.flavor, None) for server, flavor in flavors.items()
    }
    assert truth.guests(cluster) == collections.Counter((item.uuid, item.host) for item in servers.values())
    session = cluster.session
    claims = [
        (claim["consumer"], claim["role"], claim["state"], claim["host"], amounts(claim))
        for claim in session.list_all(session.claims.list_claims, "claims")
    ]
    expected = [
        (server, "only", "confirmed", servers[server].host, flavor.resources) for server, flavor in flavors.items()
    ]
    assert sorted(claims, key=str) == sorted(expected, key=str)
    report = session.call(session.claims.verify)
    assert report.clean, (report.problems, report.excess)


def assert_moves_have_ended(cluster: RunningCluster, scale: Scale) -> None:
    """Assert that as many moves as were requested ended so, and that each that failed says why."""
    ended = collections.Counter((item.kind, item.status) for item in migrations(cluster))
    assert {status for _kind, status in ended} <= ENDED_MIGRATIONS
    assert ended["resize", "confirmed"] == scale.resized
    assert ended["live-migration", "completed"] >= scale.live_migrated
    assert ended["evacuation", "completed"] >= 1
    for migration in migrations(cluster):
        assert migration.status != "error" or migration.reason, migration


def amounts(claim: dict[str, Any]) -> dict[str, int]:
    """Return the sums of a claim by resource class."""
    sums: collections.Counter[str] = collections.Counter()
    for resources in claim["allocations"].values():
        sums.update(resources)
    return dict(sums)


def records(cluster: RunningCluster) -> dict[str, objects.Instance]:
    session = cluster.session
    return {item.uuid: item for item in session.list_all(session.conductor.list_instances, "instances")}


def migrations(cluster: RunningCluster) -> list[objects.Migration]:
    session = cluster.session
    return list(session.list_all(session.conductor.list_migrations, "migrations"))
