# SPDX-License-Identifier: Apache-2.0
"""Two partitions in one deployment, each with a separate store and agent, and the outage of one of them."""

import collections
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from devstack import exercise, workload
from devstack.cluster_size import ClusterSize
from devstack.servers.process import ServerProcess
from devstack.servers.redis import RedisServer
from rpcapi import errors, objects
from tests.support import CHECKOUT
from tests.support.clusters import clusters, truth
from tests.support.clusters.booting import TINY
from tests.support.clusters.cells import HERE, THERE, Cell
from tests.support.clusters.clusters import RunningCluster
from tests.support.clusters.impatient import IMPATIENT
from tests.support.run_folders import claim_folder, release_folder

SHAPE = ClusterSize(computes=4, nodes_per_host=3, schedulers=2)
PREPARE = "scheduler_svc.store.redis.store:RedisStore.prepare_all"


@pytest.fixture(scope="module")
def folder() -> Iterator[Path]:
    run_folder = claim_folder()
    yield run_folder
    release_folder(run_folder)


@pytest.fixture(scope="module")
def cell(folder: Path) -> Iterator[Cell]:
    store = RedisServer(folder / "store", appendonly="everysec", name="the second store")
    agent = ServerProcess("the second agent", folder / "agent.pid", folder / "agent.log")
    store.start()
    yield Cell(store, agent)
    agent.kill_group()
    store.stop()


@pytest.fixture(scope="module")
def cluster(cell: Cell, folder: Path) -> Iterator[RunningCluster]:
    """Two hosts of three nodes in each partition, two scheduler workers over both."""
    scheduler = {
        **IMPATIENT["scheduler"],
        "partition:second": {"url": cell.store.url()},
    }
    # The claim lifetime exceeds the wait for the answer of a dead worker.
    scheduler["scheduler"] = {"claim_ttl": 20, "partitions": f"{HERE},{THERE}"}
    compute = {**IMPATIENT["compute"], "compute": {**IMPATIENT["compute"]["compute"], "hosts": "compute[0-1]"}}
    # The records are new, so no caller repeats a request of others that were forgotten.
    conductor = {**IMPATIENT["conductor"], "conductor": {**IMPATIENT["conductor"]["conductor"], "repeat_horizon": 1}}
    overrides = {
        **IMPATIENT,
        "scheduler": scheduler,
        "conductor": conductor,
        "compute": compute,
        "client": {"rpc": {"call_timeout": 3}},
    }
    with clusters.running_cluster(SHAPE, overrides, ready=False) as running:
        cell.agent.spawn(Cell.command(running.cluster, folder), {"PYTHONPATH": str(CHECKOUT)}, folder)
        exercise.wait_for_nodes(running.session, SHAPE.nodes, clusters.READY_SECONDS, lambda node_count: None)
        yield running


def boot(cluster: RunningCluster, count: int, **more: object) -> list[str]:
    uuids = [str(uuid.uuid4()) for _ in range(count)]
    for instance_uuid in uuids:
        cluster.session.new_request()
        cluster.session.call(cluster.session.conductor.build_instances, spec(**more), [instance_uuid])
    return uuids


def partitions_of(
    cluster: RunningCluster, uuids: list[str], names: tuple[str, ...] = (HERE, THERE)
) -> dict[str, list[str]]:
    """Return the partitions in which each instance has a live claim."""
    session = cluster.session
    partitions: dict[str, list[str]] = collections.defaultdict(list)
    for name in names:
        for claim in session.list_all(session.claims_of(name).list_claims, "claims"):
            if claim["consumer"] in uuids:
                partitions[claim["consumer"]].append(name)
    return partitions


def active(cluster: RunningCluster, uuids: list[str]) -> None:
    statuses = collections.Counter(instance.status for instance in truth.wait_for_final_status(cluster, uuids))
    assert statuses == {"ACTIVE": len(uuids)}


def spec(**more: object) -> objects.RequestSpec:
    request_spec = workload.WorkloadRequest("tiny", TINY, 1).spec()
    for key, value in more.items():
        setattr(request_spec, key, value)
    return request_spec


def select(cluster: RunningCluster, uuids: list[str], *, fresh: bool = False, **more: object) -> objects.Selections:
    cluster.admin.new_request()
    return cluster.admin.call(cluster.admin.scheduler.select_destinations, spec(**more), uuids, fresh=fresh)


def test_servers_land_in_both_partitions_and_both_are_sound(cluster: RunningCluster):
    there, here = boot(cluster, 6), boot(cluster, 6, force_hosts=["compute0", "compute1"])
    active(cluster, there + here)
    placement = partitions_of(cluster, there + here)
    assert placement == {
        **{instance_uuid: [THERE] for instance_uuid in there},
        **{instance_uuid: [HERE] for instance_uuid in here},
    }
    for name in (HERE, THERE):
        assert cluster.session.call(cluster.session.claims_of(name).verify).clean
    listed = cluster.session.call(cluster.session.scheduler.list_partitions)
    assert (listed.names, listed.available, listed.hosts) == ([HERE, THERE], [True, True], [6, 6])


def test_server_group_stays_in_a_single_partition(cluster: RunningCluster):
    group = {"group_id": str(uuid.uuid4()), "group_policy": "anti-affinity"}
    selections = [select(cluster, [str(uuid.uuid4())], **group) for _ in range(4)]
    assert {selection.partition for selection in selections} == {THERE}
    assert len({selection.host(0) for selection in selections}) == 4
    with pytest.raises(errors.NoValidHost, match="6 server group is in another partition"):
        select(cluster, [str(uuid.uuid4()) for _ in range(7)], **group)


@pytest.mark.long  # its short form, without processes, is in test_partition_router.py of the unit tests
def test_repeated_request_uses_the_pinned_partition(cluster: RunningCluster, rigged):
    # Given a worker that dies after its claim, before its answer
    met = rigged("scheduler", PREPARE, when="after")
    (consumer,) = uuids = [str(uuid.uuid4())]
    # When the caller repeats the call
    selections = select(cluster, uuids)
    # Then another worker returns the recorded claim, and nothing is claimed twice
    assert met.exists()
    assert selections.partition == THERE
    assert partitions_of(cluster, uuids) == {consumer: [THERE]}


def report(cluster: RunningCluster, host: str, partition: str, sequence: int) -> objects.StatsAnswer:
    inventories = {name: {"total": 64 * amount} for name, amount in TINY.items()}
    stats = objects.StatsReport.of(
        incarnation=0,
        register=True,
        agent="a",
        sequence=sequence,
        full=True,
        nodes={host: {"inventories": inventories}},
        partition=partition,
    )
    return cluster.admin.call(cluster.admin.scheduler.update_resource_stats, host, stats)


def audit(cluster: RunningCluster, host: str, partition: str, epoch: int) -> None:
    empty = {key: [] for key in ("consumers", "attempts", "states", "names", "allocations", "owners")}
    cluster.admin.call(
        cluster.admin.claims_of(partition).audit_host, objects.AuditReport.of(host=host, epoch=epoch, **empty)
    )


def home(cluster: RunningCluster, host: str) -> str | None:
    return cluster.session.call(cluster.session.scheduler.get_host_state, "compute", host).partition


def test_empty_host_moves_to_another_partition(cluster: RunningCluster):
    audit(cluster, "mover", THERE, report(cluster, "mover", THERE, 1).epoch)
    consumer = str(uuid.uuid4())
    selections = truth.until("the host takes a claim", lambda: tried(cluster, consumer))
    assert selections.partition == THERE
    with pytest.raises(errors.HostInUse, match="'mover' holds 1 live claims in partition 'second'"):
        report(cluster, "mover", HERE, 2)
    assert home(cluster, "mover") == THERE
    refs = objects.ClaimRefs.of(consumers=[consumer], attempts=[1])
    cluster.admin.call(cluster.admin.claims_of(THERE).abort_claims, refs)
    report(cluster, "mover", HERE, 3)
    truth.until("the host has moved", lambda: home(cluster, "mover") == HERE)
    cluster.session.call(cluster.session.scheduler.remove_host, "mover")
    with pytest.raises(errors.UnknownHost):
        home(cluster, "mover")


def tried(cluster: RunningCluster, consumer: str) -> objects.Selections | None:
    try:
        return select(cluster, [consumer], force_hosts=["mover"])
    except (errors.NoValidHost, errors.UnknownHost):
        return None  # not every worker has the host in its replica yet


def test_boots_continue_while_a_partition_store_is_down(cluster: RunningCluster, cell: Cell):
    cell.store.kill()
    try:
        truth.until(
            "the store is known to be unavailable",
            lambda: not cluster.session.call(cluster.session.scheduler.list_partitions).available[1],
        )
        uuids = boot(cluster, 12)
        active(cluster, uuids)
        assert partitions_of(cluster, uuids, (HERE,)) == {instance_uuid: [HERE] for instance_uuid in uuids}
        with pytest.raises(errors.StoreUnavailable):
            cluster.session.call(cluster.session.claims_of(THERE).verify)
    finally:
        cell.store.start()
    # When it is back, its hosts audit and accept servers again
    truth.until("all nodes open again", lambda: exercise.open_nodes(cluster.session) == SHAPE.nodes)
    truth.until("servers go there again", lambda: select(cluster, [str(uuid.uuid4())], fresh=True).partition == THERE)
    assert partitions_of(cluster, uuids) == {instance_uuid: [HERE] for instance_uuid in uuids}
