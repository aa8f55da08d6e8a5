# SPDX-License-Identifier: Apache-2.0
"""``gantt audit`` on a running cluster finds what ``claim verify``, the store against itself, cannot."""

import json
import subprocess
from collections.abc import Iterator
from typing import Any

import pytest

from devstack import exercise
from devstack.cluster_size import ClusterSize, Mode
from rpcapi import context, objects
from rpcapi.admin.session import Session
from rpcapi.clients.compute import ComputeAPI
from rpcapi.resources import names
from tests.support.clusters import booting, clusters, commands, truth
from tests.support.clusters.clusters import RunningCluster
from tests.support.store.backends import RedisFaults

SIZE = ClusterSize(computes=2, nodes_per_host=1, schedulers=1)
# Only the agents' start, and what the test plants: no periodic comparison repairs it while it is looked at.
PATIENT = {
    "scheduler": {"store": {"service_down_time": 3600}},
    "conductor": {"conductor": {"reconcile_interval": 3600, "report_interval": 3600}},
    "compute": {"compute": {"report_interval": 3600}},
}


@pytest.fixture(params=[Mode.EMBEDDED, pytest.param(Mode.STANDARD, marks=pytest.mark.long)])
def cluster(request: pytest.FixtureRequest) -> Iterator[RunningCluster]:
    """A cluster on the embedded bus, and on RabbitMQ, where agents answer as users with few permissions."""
    with clusters.running_cluster(clusters.with_mode(request.param, SIZE), PATIENT) as running:
        yield running


def audit(cluster: RunningCluster) -> tuple[int, list[dict[str, Any]]]:
    """Return the exit code and the differences."""
    command = [*commands.gantt(), "--config-file", str(cluster.cluster.client_conf)]
    arguments = ["audit", "--pause", "0", "-f", "json"]
    result = subprocess.run([*command, *arguments], capture_output=True, text=True, timeout=60, check=False)
    assert result.stdout, result.stderr
    return result.returncode, json.loads(result.stdout)


def differences(cluster: RunningCluster) -> list[tuple[str, str, int, str]]:
    code, rows = audit(cluster)
    assert code == (1 if rows else 0)
    return sorted((row["difference"], row["instance"], row["attempt"], row["host"]) for row in rows)


def boot(cluster: RunningCluster) -> Any:
    """Boot an instance and return its ACTIVE record."""
    instance = booting.boot(cluster)
    assert instance.status == "ACTIVE", instance.reason
    return instance


def refs(instance: Any, attempt: int | None = None) -> objects.ClaimRefs:
    return objects.ClaimRefs.of(consumers=[instance.uuid], attempts=[attempt or instance.attempt])


def restore(cluster: RunningCluster, faults: RedisFaults, backup: dict[str, bytes]) -> None:
    """Restore the store while no scheduler runs: one that runs would notice that its position has gone back."""
    cluster.cluster.daemons["scheduler"].kill_group()
    faults.restore(backup, as_another_server=False)
    cluster.cluster.start_daemon("scheduler")
    exercise.wait_for_nodes(cluster.session, cluster.cluster.size.nodes, clusters.READY_SECONDS, lambda count: None)


def verify_is_clean(cluster: RunningCluster) -> bool:
    return bool(cluster.session.call(cluster.session.claims.verify).clean)


def test_planted_differences_are_found_and_nothing_else(cluster: RunningCluster) -> None:
    session = cluster.session
    healthy, unclaimed, doubled = (boot(cluster) for _ in range(3))
    assert differences(cluster) == []

    # A guest whose claim ended without its agent: as after a fence between the scripts of an audit
    host = names.host_of(unclaimed.host)
    release_as_agent(cluster, host, refs(unclaimed))
    expected = [("guest without claim", unclaimed.uuid, 1, host)]
    assert differences(cluster) == expected

    # A second copy: the claim ended, and attempt 2 was placed and built on the other host
    first = names.host_of(doubled.host)
    (other,) = {state.name for state in session.list_all(session.scheduler.list_host_state, "states", "compute")} - {
        doubled.host
    }
    release_as_agent(cluster, first, refs(doubled))
    build_second_copy(cluster, doubled, other)
    expected += [("second copy", doubled.uuid, 1, first)]
    truth.until("the second guest runs", lambda: truth.guests(cluster)[doubled.uuid, other] == 1)
    planted = differences(cluster)
    assert set(expected) < set(planted)
    # Its record names the first copy
    assert set(planted) - set(expected) == {("guest and record differ", doubled.uuid, 2, names.host_of(other))}

    # A store restored from a backup, unnoticed: it lost what was booted since
    faults = RedisFaults(cluster.cluster.store, session.conf.rpc.partition)
    backup = faults.mark()
    forgotten = boot(cluster)
    restore(cluster, faults, backup)
    expected = [*planted, ("guest without claim", forgotten.uuid, 1, names.host_of(forgotten.host))]
    assert differences(cluster) == sorted(expected)
    assert healthy.uuid not in {row[1] for row in expected}
    # None of them can be found by the store alone
    assert verify_is_clean(cluster)


def release_as_agent(cluster: RunningCluster, host: str, claim_refs: objects.ClaimRefs) -> None:
    """Release claims as their agent: no operator may."""
    agent = Session([str(cluster.cluster.layout.conf("compute"))])
    try:
        truth.call_as_agent(cluster, agent.claims.release_claims, host, claim_refs)
    finally:
        agent.close()


def build_second_copy(cluster: RunningCluster, instance: Any, node: str) -> None:
    """Claim attempt 2 of an instance on ``node`` and have its agent build it."""
    session = cluster.session
    request = objects.RequestSpec.of(resources={"VCPU": 1, "MEMORY_MB": 64})
    partition = session.conf.rpc.partition
    overview = session.call(session.scheduler.list_partitions)
    intents = objects.ClaimIntents.of(
        spec=request,
        consumers=[instance.uuid],
        attempts=[2],
        replaces=[None],
        candidates=[[node]],
        epoch=overview.epochs[0],
        position=overview.positions[0],
    )
    build = objects.BuildRequest.of(
        spec=request,
        partition=partition,
        project_id="p",
        user_id="u",
        uuids=[instance.uuid],
        attempts=[2],
        names=[node],
        allocations=[],
    )
    # Only a conductor may prepare claims and send to agents
    conductor = Session([str(cluster.cluster.layout.conf("conductor"))])
    try:
        answers = conductor.call(conductor.claims.prepare_claims, intents)
        assert answers.answers == ["prepared"], answers.reasons
        agents = ComputeAPI(conductor.conf, conductor.transport)
        agents.build_instances(context.new("p", "u"), names.host_of(node), build)
    finally:
        conductor.close()
