# SPDX-License-Identifier: Apache-2.0
"""Moves in a running cluster of two partitions, each with a Redis and an agent of its own."""

import json
import subprocess
import uuid
from collections.abc import Iterator
from typing import Any

import pytest

from devstack import exercise
from devstack.cluster_size import ClusterSize
from devstack.servers.process import ServerProcess
from devstack.servers.redis import RedisServer
from rpcapi import objects
from rpcapi.admin import groups
from rpcapi.resources.names import host_of
from tests.support import CHECKOUT
from tests.support.clusters import clusters, commands, truth
from tests.support.clusters.booting import SERVER_RESOURCES
from tests.support.clusters.cells import HERE, THERE, Cell
from tests.support.clusters.clusters import RunningCluster
from tests.support.run_folders import claim_folder, release_folder

SIZE = ClusterSize(computes=4, nodes_per_host=1, schedulers=1)
HOSTS = {HERE: ("compute0", "compute1"), THERE: ("compute2", "compute3")}


@pytest.fixture(scope="module")
def cluster() -> Iterator[RunningCluster]:
    """Two hosts in each partition, one scheduler over both."""
    folder = claim_folder()
    store = RedisServer(folder / "store", appendonly="everysec", name="the second store")
    agent = ServerProcess("the second agent", folder / "agent.pid", folder / "agent.log")
    store.start()
    overrides = {
        "scheduler": {"scheduler": {"partitions": f"{HERE},{THERE}"}, "partition:second": {"url": store.url()}},
        "compute": {"compute": {"hosts": "compute[0-1]"}},
        "conductor": {"conductor": {"shelved_offload_time": 0}},
    }
    try:
        with clusters.running_cluster(SIZE, overrides, ready=False) as running:
            agent.spawn(Cell.command(running.cluster, folder), {"PYTHONPATH": str(CHECKOUT)}, folder)
            exercise.wait_for_nodes(running.session, SIZE.nodes, clusters.READY_SECONDS, lambda node_count: None)
            yield running
    finally:
        agent.kill_group()
        store.stop()
        release_folder(folder)


def gantt(cluster: RunningCluster, *arguments: str) -> tuple[int, Any]:
    """Run the operator's command; return its exit code, and its output from JSON, or its message."""
    command = [*commands.gantt(), "--config-file", str(cluster.cluster.client_conf)]
    result = subprocess.run([*command, *arguments], capture_output=True, text=True, timeout=300, check=False)
    return result.returncode, json.loads(result.stdout) if result.stdout else result.stderr


def boot(cluster: RunningCluster, count: int = 1, **fields: Any) -> list[str]:
    """Boot servers by one request on compute0."""
    session, uuids = cluster.session, [str(uuid.uuid4()) for _ in range(count)]
    session.new_request()
    spec = objects.RequestSpec.of(
        **{"flavor": "m1.tiny", "resources": SERVER_RESOURCES, "force_hosts": ["compute0"], **fields}
    )
    session.call(session.conductor.build_instances, spec, uuids)
    assert [record.status for record in truth.wait_for_final_status(cluster, uuids)] == ["ACTIVE"] * count
    return uuids


def places(cluster: RunningCluster, server: str) -> list[tuple[str, str]]:
    """Return (partition, service host) of each live claim of a server, that of the source of a move last."""
    session = cluster.session
    claims = [
        (claim["role"] == "source", (name, host_of(claim["host"])))
        for name in (HERE, THERE)
        for claim in session.list_all(session.claims_of(name).list_claims, "claims")
        if claim["consumer"] == server
    ]
    return [place for _is_source, place in sorted(claims)]


def hosts(cluster: RunningCluster, uuids: list[str]) -> list[str]:
    return [host_of(record.host) for record in truth.records(cluster, uuids)]


def check(cluster: RunningCluster) -> None:
    truth.until("all sides agree", lambda: gantt(cluster, "audit", "-f", "json", "--pause", "0.5") == (0, []))
    for name in (HERE, THERE):
        assert cluster.session.call(cluster.session.claims_of(name).verify).clean


@pytest.mark.timeout(600)
def test_server_moves_to_the_other_partition_and_back(cluster: RunningCluster) -> None:
    (server,) = boot(cluster)
    # Given a host of the other partition, When it is not allowed, Then it is refused, and nothing is changed
    before = truth.records(cluster, [server])[0].obj_to_primitive()
    for command in ("migrate", "live-migrate"):
        code, message = gantt(cluster, "server", command, server, "--host", "compute2")
        assert code == 1 and "compute2 takes none of them" in message, message
    assert truth.records(cluster, [server])[0].obj_to_primitive() == before
    # When it is allowed, Then each end has its claim in its own partition, until the move is reverted or confirmed
    for end, place in (("revert", (HERE, "compute0")), ("confirm", (THERE, "compute2"))):
        assert gantt(cluster, "server", "migrate", server, "--host", "compute2", "--allow-cross-cell", "--wait")[0] == 0
        (record,) = truth.records(cluster, [server])
        assert (record.status, host_of(record.host)) == ("VERIFY_RESIZE", "compute2")
        assert places(cluster, server) == [(THERE, "compute2"), (HERE, "compute0")]
        assert gantt(cluster, "server", end, server, "--wait")[0] == 0
        assert places(cluster, server) == [place]
        check(cluster)
    # And from there it moves within its new partition only, unless allowed
    assert gantt(cluster, "server", "migrate", server, "--wait")[0] == 0
    assert gantt(cluster, "server", "confirm", server, "--wait")[0] == 0
    assert places(cluster, server) == [(THERE, "compute3")]
    assert gantt(cluster, "server", "migrate", server, "--host", "compute0")[0] == 1
    check(cluster)


@pytest.mark.long
@pytest.mark.timeout(600)
def test_affinity_group_moves_as_a_whole_within_its_partition_and_to_the_other(cluster: RunningCluster) -> None:
    affinity = {"group_id": groups.create_group(cluster.session, "together", "affinity").id}
    members = [*boot(cluster, 2, **affinity), *boot(cluster, flavor="m1.small", **affinity)]
    resources = {"VCPU": 2, "MEMORY_MB": 128, "DISK_GB": 1}
    members += boot(cluster, resources=resources, **affinity)
    # One alone is kept by the others
    assert gantt(cluster, "server", "migrate", members[0], "--wait")[0] == 1
    assert hosts(cluster, members) == ["compute0"] * 4
    for options, partition in (((), HERE), (("--host", "compute3", "--allow-cross-cell"), THERE)):
        code, message = gantt(cluster, "server", "migrate", "--group", "together", *options, "--wait")
        assert code == 0, message
        assert gantt(cluster, "group", "show", "together", "-f", "json")[1]["state"] == "moving"
        assert len(set(hosts(cluster, members))) == 1
        assert {place[0] for place in places(cluster, *members) if place} == {partition}
        assert gantt(cluster, "server", "confirm", "--group", "together", "--wait")[0] == 0
        (group,) = [row for row in gantt(cluster, "group", "list", "-f", "json")[1] if row["group"] == "together"]
        assert (group["state"], group["members"], len(group["hosts"])) == ("ok", 4, 1)
    assert hosts(cluster, members) == ["compute3"] * 4
    # And while they run
    assert gantt(cluster, "server", "live-migrate", "--group", "together", "--wait")[0] == 0
    assert hosts(cluster, members) == ["compute2"] * 4
    check(cluster)


@pytest.mark.long
@pytest.mark.timeout(300)
def test_server_is_unshelved_on_the_host_of_choice(cluster: RunningCluster) -> None:
    (server,) = boot(cluster)
    assert gantt(cluster, "server", "shelve", server, "--wait")[0] == 0
    truth.until("offloaded", lambda: truth.records(cluster, [server])[0].status == "SHELVED_OFFLOADED")
    assert places(cluster, server) == [None]
    code, message = gantt(cluster, "server", "unshelve", server, "--host", "compute9")
    assert code == 1 and "compute9" in message
    assert truth.records(cluster, [server])[0].status == "SHELVED_OFFLOADED"
    assert gantt(cluster, "server", "unshelve", server, "--host", "compute3", "--wait")[0] == 0
    assert places(cluster, server) == [(THERE, "compute3")]
    check(cluster)
