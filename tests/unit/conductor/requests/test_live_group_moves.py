# SPDX-License-Identifier: Apache-2.0
"""Affinity groups that are migrated live, with real agents."""

from dataclasses import asdict, replace
from pathlib import Path

import pytest

from compute_agent.simulator.profile import HostProfile
from conductor.requests import moves
from tests.support.conductor.live_cluster import CONVERGES, SPEC, LiveCluster
from tests.support.conductor.simulated_cluster import CTXT, KillSwitch, migration_of, uuid_list
from tests.support.stride import offset

MEMBERS = uuid_list(5)[2:]
MIGRATIONS = [migration_of(uuid) for uuid in MEMBERS]


def make_cluster(folder: Path) -> LiveCluster:
    """Return a cluster with three members of an affinity group on h1, of two requests, whose migration has begun."""
    folder.mkdir(exist_ok=True)
    created = LiveCluster(folder)
    created.conductor()
    for uuids in (MEMBERS[:2], MEMBERS[2:]):
        created.build(uuids, SPEC.with_values(group_id="g", group_policy="affinity"))
        created.settle()
    assert hosts(created) == ["h1/n"] * 3
    moves.live_migrate(created.reliable_conductor(), CTXT, MEMBERS, MIGRATIONS)
    return created


@pytest.fixture
def cluster(tmp_path: Path) -> LiveCluster:
    return make_cluster(tmp_path)


def hosts(cluster: LiveCluster) -> list[str | None]:
    return [cluster.record(uuid).host for uuid in MEMBERS]


def check(cluster: LiveCluster, statuses: list[str]) -> None:
    """Assert the ends of the migrations, and that each member runs on the host of its record under its only claim."""
    assert cluster.statuses(MEMBERS) == ["ACTIVE"] * 3
    assert [cluster.store.migrations([uuid])[uuid].status for uuid in MIGRATIONS] == statuses
    live = cluster.ledger.live()
    assert live == {
        uuid: (record.host, record.attempt, "confirmed") for uuid in MEMBERS for record in [cluster.record(uuid)]
    }
    for uuid in MEMBERS:
        assert [f"{host}/n" for host in cluster.hosts.running(uuid)] == [cluster.record(uuid).host]
    assert cluster.ledger.problems() == []


def test_members_move_together_while_they_run(cluster: LiveCluster) -> None:
    cluster.settle()
    assert hosts(cluster) == ["h2/n"] * 3
    check(cluster, ["completed"] * 3)


@pytest.mark.parametrize("phase", ["migration_check_failure_rate", "refusal_rate"])
def test_members_take_the_next_host_together_where_one_fails_before_the_copy(cluster: LiveCluster, phase: str) -> None:
    cluster.hosts.rigs["h2"].profile = replace(CONVERGES, **{phase: 1.0})
    cluster.settle()
    assert hosts(cluster) == ["h3/n"] * 3
    check(cluster, ["completed"] * 3)


def test_members_of_which_one_fails_are_split(cluster: LiveCluster) -> None:
    class FailingOne(HostProfile):
        def migration_check_fails(self, host: str, instance: str) -> bool:
            return instance == MEMBERS[0]

    cluster.hosts.rigs["h2"].profile = FailingOne(**asdict(CONVERGES))
    cluster.settle()
    assert hosts(cluster) == ["h1/n", "h2/n", "h2/n"]
    check(cluster, ["error", "completed", "completed"])
    assert cluster.ledger.store.group_hosts("g") == {"h1/n": 1, "h2/n": 2}


def test_members_stay_where_no_host_receives_them(cluster: LiveCluster) -> None:
    for rig in cluster.hosts.rigs.values():
        rig.profile = replace(CONVERGES, copy_failure_rate=1.0)
    cluster.settle()
    assert hosts(cluster) == ["h1/n"] * 3
    check(cluster, ["error"] * 3)


def test_abort_of_one_before_the_destinations_are_claimed_ends_all(cluster: LiveCluster) -> None:
    cluster.abort(MIGRATIONS[1:2])
    cluster.settle()
    assert hosts(cluster) == ["h1/n"] * 3
    check(cluster, ["error", "cancelled", "error"])


@pytest.mark.parametrize("step", [13, pytest.param(1, marks=pytest.mark.long)])
def test_members_move_together_though_the_conductor_is_killed_at_any_call(step: int, tmp_path: Path) -> None:
    whole = make_cluster(tmp_path / "whole")
    counter = KillSwitch(0, after=False)
    whole.conductors.clear()
    whole.conductor(counter)
    whole.settle()
    assert counter.calls > 20
    for at in range(1 + offset(step), counter.calls + 1, step):
        for after in (False, True):
            cluster = make_cluster(tmp_path / f"{at}-{after}")
            cluster.conductors.clear()
            cluster.conductor(KillSwitch(at, after=after))
            cluster.conductor()
            cluster.settle()
            assert hosts(cluster) == ["h2/n"] * 3, (at, after)
            check(cluster, ["completed"] * 3)
