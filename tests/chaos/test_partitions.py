# SPDX-License-Identifier: Apache-2.0
"""Two partitions in one deployment, each with a store and an agent of its own: what holds while one is away."""

import collections
import sys
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from devstack import confs, exercise, workload
from devstack.cluster import Cluster, ClusterSize
from devstack.servers.folder import write_private
from devstack.servers.process import ServerProcess
from devstack.servers.redis import RedisServer
from rpcapi import errors, objects
from tests.chaos.conftest import IMPATIENT
from tests.chaos.test_agent_killed import TINY
from tests.functional import clusters, truth
from tests.functional.clusters import Running
from tests.run_folders import claim_folder, release_folder

HERE, THERE = "default", "second"
SHAPE = ClusterSize(computes=4, nodes_per_host=3, schedulers=2)
PREPARE = "scheduler_svc.store.redis.store:RedisStore.prepare"


@dataclass
class Cell:
    """What the second partition has of its own."""

    store: RedisServer
    agent: ServerProcess

    @staticmethod
    def command(cluster: Cluster, folder: Path) -> list[str]:
        """Return how its agent is started: as the first one, but for a few options."""
        own = {
            "rpc": {"partition": THERE},
            "compute": {"hosts": "compute[2-3]", "state_path": folder / "state"},
            # Larger by far, so that all goes there unless something is in the way.
            **{shape: {"vcpus": 1000, "memory_mb": 4_000_000, "disk_gb": 40_000} for shape in confs.NODE_SHAPES},
        }
        write_private(folder / "second.conf", confs.text(own))
        files = ["--config-file", str(cluster.layout.conf("compute")), "--config-file", str(folder / "second.conf")]
        return [str(Path(sys.executable).with_name("gantt-compute")), *files]


@pytest.fixture(scope="module")
def folder() -> Iterator[Path]:
    made = claim_folder()
    yield made
    release_folder(made)


@pytest.fixture(scope="module")
def cell(folder: Path) -> Iterator[Cell]:
    store = RedisServer(folder / "store", appendonly="everysec", name="the second store")
    agent = ServerProcess("the second agent", folder / "agent.pid", folder / "agent.log")
    store.start()
    yield Cell(store, agent)
    clusters.kill(agent)
    store.stop()


@pytest.fixture(scope="module")
def cluster(cell: Cell, folder: Path) -> Iterator[Running]:
    """Two hosts of three nodes in each partition, two scheduler workers over both."""
    scheduler = {
        **IMPATIENT["scheduler"],
        "partition:second": {"url": cell.store.url()},
    }
    # A claim outlives the wait for the answer of a worker that died.
    scheduler["scheduler"] = {"claim_ttl": 20, "partitions": f"{HERE},{THERE}"}
    compute = {**IMPATIENT["compute"], "compute": {**IMPATIENT["compute"]["compute"], "hosts": "compute[0-1]"}}
    overrides = {**IMPATIENT, "scheduler": scheduler, "compute": compute, "client": {"rpc": {"call_timeout": 3}}}
    with clusters.running(SHAPE, overrides, ready=False) as running:
        cell.agent.spawn(Cell.command(running.cluster, folder), {}, folder)
        exercise.wait_for_nodes(running.session, SHAPE.nodes, clusters.READY_SECONDS, lambda known: None)
        yield running


def boot(cluster: Running, count: int, **more: object) -> list[str]:
    uuids = [str(uuid.uuid4()) for _ in range(count)]
    for one in uuids:
        cluster.session.new_request()
        cluster.session.call(cluster.session.conductor.build_instances, spec(**more), [one])
    return uuids


def partitions_of(cluster: Running, uuids: list[str], names: tuple[str, ...] = (HERE, THERE)) -> dict[str, list[str]]:
    """Return in which partitions each instance has a live claim."""
    session = cluster.session
    found: dict[str, list[str]] = collections.defaultdict(list)
    for name in names:
        for claim in session.list_all(session.claims_of(name).list_claims, "claims"):
            if claim["consumer"] in uuids:
                found[claim["consumer"]].append(name)
    return found


def active(cluster: Running, uuids: list[str]) -> None:
    statuses = collections.Counter(each.status for each in truth.settled(cluster, uuids))
    assert statuses == {"ACTIVE": len(uuids)}


def spec(**more: object) -> objects.RequestSpec:
    asked = workload.WorkloadRequest("tiny", TINY, 1).spec()
    for key, value in more.items():
        setattr(asked, key, value)
    return asked


def select(cluster: Running, uuids: list[str], **more: object) -> objects.Selections:
    cluster.session.new_request()
    return cluster.session.call(cluster.session.scheduler.select_destinations, spec(**more), uuids)


def test_servers_land_in_both_partitions_and_both_are_sound(cluster: Running):
    there, here = boot(cluster, 6), boot(cluster, 6, force_hosts=["compute0", "compute1"])
    active(cluster, there + here)
    found = partitions_of(cluster, there + here)
    assert found == {**{each: [THERE] for each in there}, **{each: [HERE] for each in here}}
    for name in (HERE, THERE):
        assert cluster.session.call(cluster.session.claims_of(name).verify).clean
    listed = cluster.session.call(cluster.session.scheduler.list_partitions)
    assert (listed.names, listed.available, listed.hosts) == ([HERE, THERE], [True, True], [6, 6])


def test_a_server_group_stays_in_one_partition(cluster: Running):
    group = {"group_id": str(uuid.uuid4()), "group_policy": "anti-affinity"}
    chosen = [select(cluster, [str(uuid.uuid4())], **group) for _ in range(4)]
    assert {each.partition for each in chosen} == {THERE}
    assert len({each.host(0) for each in chosen}) == 4
    with pytest.raises(errors.NoValidHost, match="6 server group is in another partition"):
        select(cluster, [str(uuid.uuid4()) for _ in range(7)], **group)


@pytest.mark.long  # its short form, without processes, is in tests/unit/scheduler_svc/test_partitioned.py
def test_a_repeated_request_goes_to_the_partition_that_answered_first(cluster: Running, rigged):
    # Given a worker that dies when it has claimed, before it can answer
    met = rigged("scheduler", PREPARE, when="after")
    (consumer,) = uuids = [str(uuid.uuid4())]
    # When its caller asks again
    selections = select(cluster, uuids)
    # Then another worker answers what was claimed at first, and nothing is claimed twice
    assert met.exists()
    assert selections.partition == THERE
    assert partitions_of(cluster, uuids) == {consumer: [THERE]}


def report(cluster: Running, host: str, partition: str, sequence: int) -> objects.StatsAnswer:
    inventories = {name: {"total": 64 * amount} for name, amount in TINY.items()}
    stats = objects.StatsReport.of(
        incarnation=1,
        sequence=sequence,
        full=True,
        nodes={host: {"inventories": inventories}},
        partition=partition,
    )
    return cluster.session.call(cluster.session.scheduler.update_resource_stats, host, stats)


def audit(cluster: Running, host: str, partition: str, epoch: int) -> None:
    empty = {key: [] for key in ("consumers", "attempts", "states", "names", "allocations", "owners")}
    cluster.session.call(
        cluster.session.claims_of(partition).audit_host, objects.AuditReport.of(host=host, epoch=epoch, **empty)
    )


def home(cluster: Running, host: str) -> str | None:
    return cluster.session.call(cluster.session.scheduler.get_host_state, "compute", host).partition


def test_a_host_moves_to_another_partition_when_it_is_empty(cluster: Running):
    audit(cluster, "mover", THERE, report(cluster, "mover", THERE, 1).epoch)
    consumer = str(uuid.uuid4())
    selections = truth.until("the host takes a claim", lambda: tried(cluster, consumer))
    assert selections.partition == THERE
    with pytest.raises(errors.HostInUse, match="'mover' holds 1 live claims in partition 'second'"):
        report(cluster, "mover", HERE, 2)
    assert home(cluster, "mover") == THERE
    refs = objects.ClaimRefs.of(consumers=[consumer], attempts=[1])
    cluster.session.call(cluster.session.claims_of(THERE).abort_claims, refs)
    report(cluster, "mover", HERE, 3)
    truth.until("the host has moved", lambda: home(cluster, "mover") == HERE)
    cluster.session.call(cluster.session.scheduler.remove_host, "mover")
    with pytest.raises(errors.UnknownHost):
        home(cluster, "mover")


def tried(cluster: Running, consumer: str) -> objects.Selections | None:
    try:
        return select(cluster, [consumer], force_hosts=["mover"])
    except (errors.NoValidHost, errors.UnknownHost):
        return None  # not every worker has read of the host yet


def test_while_one_store_is_away_servers_go_on_booting_in_the_other(cluster: Running, cell: Cell):
    cell.store.kill()
    try:
        truth.until(
            "the store is known to be away",
            lambda: not cluster.session.call(cluster.session.scheduler.list_partitions).available[1],
        )
        uuids = boot(cluster, 12)
        active(cluster, uuids)
        assert partitions_of(cluster, uuids, (HERE,)) == {each: [HERE] for each in uuids}
        with pytest.raises(errors.StoreUnavailable):
            cluster.session.call(cluster.session.claims_of(THERE).verify)
    finally:
        cell.store.start()
    # When it is back, its hosts audit and take servers again
    truth.until("all nodes open again", lambda: exercise.open_nodes(cluster.session) == SHAPE.nodes)
    truth.until("servers go there again", lambda: select(cluster, [str(uuid.uuid4())]).partition == THERE)
    assert partitions_of(cluster, uuids) == {each: [HERE] for each in uuids}
