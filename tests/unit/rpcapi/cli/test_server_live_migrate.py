# SPDX-License-Identifier: Apache-2.0
"""``gantt server live-migrate``, ``gantt migration abort`` and ``force-complete``, and the progress of migrations."""

import pytest

from tests.unit.rpcapi.cli import fakes
from tests.unit.rpcapi.cli.test_migration import add_migration


@pytest.fixture(autouse=True)
def servers(cluster):
    for uuid in "ab":
        cluster.conductor.instances[uuid] = fakes.instance(uuid, name=f"web-{uuid}", status="ACTIVE")


def test_servers_are_migrated_by_one_call(cluster, gantt):
    result = gantt("server", "live-migrate", "web-a", "b", "--host", "h2")
    assert result.code == 0
    assert "2 to be migrated live" in result.out + result.err
    assert cluster.conductor.moves == [("live-migrate", ["a", "b"], {"host": "h2"})]
    assert sorted(migration.instance for migration in cluster.conductor.migrations.values()) == ["a", "b"]


def test_wait_ends_when_the_migrations_are_completed(cluster, gantt):
    cluster.conductor.migration_status = "completed"
    result = gantt("server", "live-migrate", "a", "--wait")
    assert result.code == 0 and "1 migrated live" in result.out + result.err


def test_wait_fails_with_the_reason_of_each_that_stayed(cluster, gantt):
    cluster.conductor.migration_status, cluster.conductor.migration_reason = "error", "the copy failed"
    result = gantt("server", "live-migrate", "a", "--wait")
    assert result.code == 1
    assert "1 of 1 are not migrated live: a: migration" in result.err
    assert "is error: the copy failed" in result.err


@pytest.mark.parametrize(("command", "method"), [("abort", "abort"), ("force-complete", "force")])
def test_migrations_are_controlled(cluster, gantt, command, method):
    add_migration(cluster, "m", kind="live-migration")
    assert gantt("migration", command, "m").code == 0
    assert cluster.conductor.moves == [(method, ["m"], {})]
    result = gantt("migration", command, "unknown")
    assert result.code == 1 and "No migration unknown is recorded" in result.err


def test_progress_is_shown_while_it_is_copied(cluster, gantt):
    add_migration(cluster, "m", kind="live-migration")
    add_migration(cluster, "n", kind="live-migration", status="completed")
    add_migration(cluster, "o", kind="migration")
    cluster.conductor.copies["m"] = ("running", 4000, 1000, 3500)
    rows = gantt("migration", "list", "-f", "json").json
    assert [row["progress"] for row in rows] == ["75 %", None, None]
    shown = gantt("migration", "show", "m", "-f", "json").json
    assert shown["progress"] == "running: 1000 of 4000 MiB left, 3500 MiB copied"
    assert gantt("migration", "show", "n", "-f", "json").json["progress"] is None
