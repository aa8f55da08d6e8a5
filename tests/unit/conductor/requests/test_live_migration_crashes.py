# SPDX-License-Identifier: Apache-2.0
"""Live migrations in which a conductor, or the agent of one end, is killed at any step, with real agents."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from compute_agent.simulator.profile import HostProfile
from tests.support.agent.rig import KillSwitch as AgentKillSwitch
from tests.support.conductor.live_cluster import CONVERGES, INSTANCE, MIGRATION, LiveCluster
from tests.support.conductor.simulated_cluster import LIMITS, KillSwitch
from tests.support.stride import offset

Story = Callable[[LiveCluster], None]


def migrate(cluster: LiveCluster) -> None:
    cluster.live_migrate()
    cluster.settle()


def abort(cluster: LiveCluster) -> None:
    set_profile(cluster, replace(CONVERGES, dirty_rate=100.0))
    cluster.live_migrate()
    cluster.settle(30_000)
    set_profile(cluster, CONVERGES)
    if not cluster.migration.has_ended and cluster.record(INSTANCE).step in ("destination", "prepare_copy", "copy"):
        cluster.abort([MIGRATION])
    cluster.settle()


def force_by_post_copy(cluster: LiveCluster) -> None:
    set_profile(cluster, replace(CONVERGES, dirty_rate=100.0))
    cluster.live_migrate()
    cluster.settle(30_000)
    set_profile(cluster, CONVERGES)
    if cluster.record(INSTANCE).step == "copy" and cluster.migration.status == "migrating":
        cluster.force_complete([MIGRATION])
    cluster.settle()


def fail_after_the_copy(cluster: LiveCluster) -> None:
    set_profile(cluster, replace(CONVERGES, post_migration_failure_rate=1.0))
    cluster.live_migrate()
    cluster.settle()


def delete_during_the_copy(cluster: LiveCluster) -> None:
    set_profile(cluster, replace(CONVERGES, dirty_rate=100.0))
    cluster.live_migrate()
    cluster.settle(30_000)
    cluster.delete([INSTANCE])
    cluster.settle()


STORIES: dict[str, Story] = {
    "migrate": migrate,
    "abort": abort,
    "force by post-copy": force_by_post_copy,
    "fail after the copy": fail_after_the_copy,
    "delete": delete_during_the_copy,
}


def set_profile(cluster: LiveCluster, profile: HostProfile) -> None:
    for rig in cluster.hosts.rigs.values():
        rig.profile = profile


def make(folder: Path) -> LiveCluster:
    folder.mkdir(exist_ok=True)
    cluster = LiveCluster(folder, replace(LIMITS, permits_post_copy=True))
    cluster.conductor()
    cluster.boot()
    return cluster


def check(cluster: LiveCluster, when: str, *, may_be_lost: bool = False) -> None:
    """Assert a final record, one guest where it says, and no other claim."""
    record, migration = cluster.record(INSTANCE), cluster.migration
    assert record.step == "done" and migration.has_ended, f"{when}: {record} {migration}"
    running, live = cluster.hosts.running(INSTANCE), cluster.ledger.live()
    if record.status == "ACTIVE":
        host = (record.host or "").partition("/")[0]
        assert running == [host], when
        assert live == {INSTANCE: (record.host, record.attempt, "confirmed")}, when
        assert cluster.hosts.guests_of(INSTANCE) == [(record.host, record.attempt)], when
    elif record.status == "DELETED":
        assert (running, live, cluster.hosts.guests_of(INSTANCE)) == ([], {}, []), when
    else:
        assert may_be_lost and record.status == "ERROR" and record.reason, f"{when}: {record}"
        assert len(running) <= 1, when
    assert cluster.ledger.problems() == [], when


@pytest.mark.parametrize("step", [11, pytest.param(1, marks=pytest.mark.long)])
@pytest.mark.parametrize("name", STORIES)
def test_conductor_killed_at_every_call(name: str, step: int, tmp_path: Path) -> None:
    whole = make(tmp_path / "whole")
    counter = KillSwitch(0, after=False)
    whole.conductors.clear()
    whole.conductor(counter)
    STORIES[name](whole)
    check(whole, name)
    assert counter.calls > 20
    for at in range(1 + offset(step), counter.calls + 1, step):
        for after in (False, True):
            cluster = make(tmp_path / f"{at}-{after}")
            cluster.conductors.clear()
            cluster.conductor(KillSwitch(at, after=after))
            cluster.conductor()
            STORIES[name](cluster)
            cluster.settle()
            check(cluster, f"{name}, killed {'after' if after else 'before'} call {at}")


@pytest.mark.parametrize("step", [7, pytest.param(1, marks=pytest.mark.long)])
@pytest.mark.parametrize("host", ["h1", "h2"])
@pytest.mark.parametrize("name", STORIES)
def test_agent_killed_at_every_step(name: str, host: str, step: int, tmp_path: Path) -> None:
    whole = make(tmp_path / "whole")
    counter = AgentKillSwitch()
    whole.hosts.start(host, counter)
    started = counter.steps
    STORIES[name](whole)
    assert counter.steps > started + 5
    for at in range(started + 1 + offset(step), counter.steps + 1, step):
        cluster = make(tmp_path / f"{host}-{at}")
        cluster.hosts.start(host, AgentKillSwitch(at))
        STORIES[name](cluster)
        if host in cluster.hosts.dead:
            cluster.hosts.start(host)
        cluster.settle()
        check(cluster, f"{name}, agent of {host} killed at step {at}", may_be_lost=name == "force by post-copy")
