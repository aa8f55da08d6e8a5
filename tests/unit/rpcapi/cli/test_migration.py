# SPDX-License-Identifier: Apache-2.0
"""``gantt migration``."""

from rpcapi import objects
from rpcapi.resources.statuses import MigrationStatus
from tests.unit.rpcapi.cli import fakes


def add_migration(cluster, uuid, **values):
    defaults = {"instance": "server-of-" + uuid, "kind": "migration", "status": "migrating", "source_attempt": 1}
    defaults |= {"source_host": "h1/n1", "request_id": "req-1", "created_ms": 1_000, "updated_ms": 2_000}
    cluster.conductor.migrations[uuid] = objects.Migration.of(uuid=uuid, **defaults | values)


def test_list_reads_all_pages_and_filters_them(cluster, gantt):
    cluster.conductor.instances["s"] = fakes.instance("s", name="web")
    add_migration(cluster, "a", instance="s")
    add_migration(cluster, "b", status="error", reason="no host")
    add_migration(cluster, "c", source_host="h2/n1", destination_host="h1/n2")

    def list_uuids(*options):
        return [row["uuid"] for row in gantt("migration", "list", "-f", "json", *options).json]

    assert list_uuids() == list("abc")
    assert list_uuids("--server", "web") == ["a"]
    assert list_uuids("--status", "error") == ["b"]
    assert list_uuids("--host", "h1") == list("abc")
    assert list_uuids("--host", "h1/n2") == ["c"]
    assert list_uuids("--host", "h") == []


def test_unknown_status_is_rejected_with_the_known_ones(cluster, gantt):
    result = gantt("migration", "list", "--status", "FOO")
    assert (result.code, result.out) == (2, "")
    assert "argument --status: invalid choice: 'FOO' (choose from 'preparing', 'migrating', 'finished'" in result.err
    assert all(f"'{status}'" in result.err for status in MigrationStatus)


def test_show_has_the_ended_attempts(cluster, gantt):
    ended = {"attempt": 2, "host": "h3/n", "outcome": "refused", "reason": "full"}
    add_migration(cluster, "a", history=[ended], new_flavor="large")
    shown = gantt("migration", "show", "a", "-f", "json").json
    assert (shown["ended_attempts"], shown["new_flavor"], shown["server"]) == ([ended], "large", "server-of-a")
    assert "2: refused on h3/n: full" in gantt("migration", "show", "a").out


def test_unknown_migration_is_an_error(gantt):
    result = gantt("migration", "show", "zzz")
    assert (result.code, result.err) == (1, "No migration zzz is recorded; see 'gantt migration list'\n")
