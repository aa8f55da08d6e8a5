# SPDX-License-Identifier: Apache-2.0
"""The command gantt-placement-import, from a Placement database to a store in SQLite."""

import signal
import threading
from pathlib import Path
from typing import Any

import pytest

from rpcapi.resources import names
from scheduler_svc.cmd import placement_import
from scheduler_svc.placement.migration.database import PlacementDatabase
from scheduler_svc.placement.migration.database_reader import DatabaseReader
from scheduler_svc.placement.migration.differences import differences
from scheduler_svc.placement.migration.dump import PlacementDump
from scheduler_svc.placement.migration.report import Report
from scheduler_svc.placement.migration.store_reader import StoreReader
from scheduler_svc.placement.migration.store_writer import StoreWriter
from scheduler_svc.placement.migration.switchover import Switchover
from scheduler_svc.store.allocations import ANY, AllocationChange
from scheduler_svc.store.providers.changes import VOCABULARIES, CreateProvider, SetTraits
from scheduler_svc.store.sql import SqlStore
from tests.support.placement.placement_database import CHILD, PlacementFile, uuid_for
from tests.support.store.databases import sql_partition
from tests.support.store.store_partition import StorePartition

PARTITION = "p1"


@pytest.fixture
def partition(tmp_path: Path) -> Any:
    partition = sql_partition(f"sqlite:///{tmp_path / 'store.sqlite'}", partition=PARTITION, namespaces=VOCABULARIES)
    partition.store.snapshot()  # makes the tables
    yield partition
    partition.store.close()


@pytest.fixture
def store(partition: StorePartition) -> Any:
    return partition.store


@pytest.fixture
def run(database: PlacementFile, partition: StorePartition, tmp_path: Path) -> Any:
    conf = tmp_path / "gantt.conf"
    conf.write_text(
        f"[rpc]\npartition = {PARTITION}\n[store]\nurl = sqlite:///{tmp_path / 'store.sqlite'}\n", encoding="utf-8"
    )

    def run(*arguments: str) -> int:
        return placement_import.main([database.url, "--config-file", str(conf), *arguments])

    return run


def contents(store: SqlStore) -> PlacementDump:
    return StoreReader(store).read()


def test_all_is_carried_as_it_was(run: Any, partition: StorePartition, database: PlacementFile) -> None:
    assert run() == 0
    source, target = DatabaseReader(PlacementDatabase(database.url)).read(), contents(partition.store)
    assert list(differences(source, target)) == []
    assert (target.providers, target.consumers, target.names) == (source.providers, source.consumers, source.names)
    for provider in source.providers.values():
        stored = target.providers[provider.provider]
        assert (stored.created_ms, stored.changed_ms) == (provider.created_ms, provider.changed_ms)
    for consumer in source.consumers.values():
        assert target.consumers[consumer.consumer].changed_ms == consumer.changed_ms
    partition.check()
    assert run("--verify") == 0


def test_an_excess_is_carried_and_listed(run: Any, store: SqlStore, capsys: Any) -> None:
    assert run() == 0
    assert f"provider {uuid_for('pool')}: 15 of 10 DISK_GB are allocated" in capsys.readouterr().out
    assert [row["used"] for row in store.verify().excess] == [15]


def test_a_repeated_import_writes_nothing(run: Any, store: SqlStore, capsys: Any) -> None:
    assert run() == 0
    position = store.snapshot().position
    assert run() == 0
    assert store.snapshot().position == position
    assert "wrote nothing" in capsys.readouterr().out


def test_a_dry_run_writes_nothing(run: Any, partition: StorePartition, capsys: Any) -> None:
    partition.add_host("pool")
    before = partition.store.snapshot()
    assert run("--dry-run") == 1
    assert partition.store.snapshot() == before
    printed = capsys.readouterr().out
    assert "wrote 2 names, 2 providers" in printed
    assert f"provider {uuid_for('pool')}: its name belongs to pool" in printed


def test_verify_lists_every_difference(run: Any, store: SqlStore, database: PlacementFile, capsys: Any) -> None:
    assert run() == 0
    database.provider("host-2")
    database.allocate("vm-2", {"pool": {"DISK_GB": 1}})
    database.execute("UPDATE resource_providers SET name = 'renamed' WHERE name = ?", CHILD)
    before = store.snapshot()
    assert run("--verify") == 1
    assert store.snapshot() == before
    printed = capsys.readouterr().out
    assert f"provider {uuid_for('host-2')} is missing" in printed
    assert f"provider {uuid_for(CHILD)}: name is {CHILD} instead of renamed" in printed
    assert f"provider {uuid_for('pool')}: generation is 3 instead of 4" in printed
    assert f"consumer {uuid_for('vm-2')}: generation is 1 instead of 2" in printed
    assert f"consumer {uuid_for('vm-2')}: allocations is" in printed
    assert "Differences: 5" in printed


def test_times_are_compared(run: Any, database: PlacementFile, capsys: Any) -> None:
    assert run() == 0
    database.execute("UPDATE resource_providers SET updated_at = '2001-02-03 04:05:06.007' WHERE name = 'pool'")
    database.execute("UPDATE resource_providers SET created_at = '2000-01-01 00:00:00' WHERE name = 'host-1'")
    database.execute("UPDATE consumers SET updated_at = '2033-02-03 04:05:06' WHERE uuid = ?", uuid_for("vm-1"))
    assert run("--verify") == 1
    printed = capsys.readouterr().out
    assert "Differences: 3" in printed
    assert f"provider {uuid_for('pool')}: changed_ms is" in printed and "instead of 981173106007" in printed
    assert f"provider {uuid_for('host-1')}: created_ms is" in printed
    assert f"consumer {uuid_for('vm-1')}: changed_ms is" in printed
    assert run() == 0
    assert run("--verify") == 0


def test_what_changed_is_carried_by_the_next_import(
    run: Any, partition: StorePartition, database: PlacementFile, capsys: Any
) -> None:
    assert run() == 0
    database.provider("host-2", inventories={"VCPU": {"total": 4}})
    database.allocate("vm-2", {"host-2": {"VCPU": 1}})
    for table in ("consumers", "allocations"):
        column = "uuid" if table == "consumers" else "consumer_id"
        database.execute(f"DELETE FROM {table} WHERE {column} = ?", uuid_for("vm-1"))  # noqa: S608
    database.execute("DELETE FROM resource_providers WHERE name = 'pool'")
    database.execute("UPDATE resource_providers SET name = 'pool' WHERE name = ?", CHILD)
    database.execute("DELETE FROM traits WHERE name = 'CUSTOM_FAST'")
    capsys.readouterr()
    assert run() == 0
    assert "1 deleted providers, 1 deleted names in" in capsys.readouterr().out
    assert run() == 0
    assert "wrote nothing" in capsys.readouterr().out
    assert run("--verify") == 0
    partition.check()
    assert {provider.name for provider in contents(partition.store).providers.values()} == {"host-1", "host-2", "pool"}


def test_what_clients_of_gantt_changed_is_left_and_reported(
    run: Any, store: SqlStore, database: PlacementFile, capsys: Any
) -> None:
    assert run() == 0
    pool, consumer = names.api_provider(uuid_for("pool")), uuid_for("vm-1")
    store.change_provider(SetTraits(pool, ["CUSTOM_FAST", "CUSTOM_OWN"]))
    change = AllocationChange(consumer, {names.api_provider(uuid_for("host-1")): {"VCPU": 1}}, "p", "u", ANY)
    assert store.allocate([change]) is None
    before = contents(store)
    database.allocate("vm-1", {"host-1": {"VCPU": 3}})
    assert run("--beside-clients") == 1
    printed = capsys.readouterr().out
    for record in (f"provider {uuid_for('pool')}", f"consumer {consumer}"):
        assert f"{record}: clients of gantt changed or created it" in printed
    after = contents(store)
    assert after.providers[uuid_for("pool")] == before.providers[uuid_for("pool")]
    assert after.consumers[consumer] == before.consumers[consumer]


@pytest.mark.parametrize("arguments", [(), ("--follow", "--until-equal"), ("--dry-run",)])
def test_an_import_after_clients_wrote_is_refused(
    run: Any, store: SqlStore, capsys: Any, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...]
) -> None:
    monkeypatch.setattr(signal, "signal", lambda *_arguments: None)
    assert run() == 0
    pool, ended = names.api_provider(uuid_for("pool")), uuid_for("vm-1")
    assert store.allocate([AllocationChange(ended, {}, "p", "u", ANY, is_deletion=True)]) is None
    store.change_provider(SetTraits(pool, ["CUSTOM_FAST", "CUSTOM_OWN"]))
    before = store.snapshot()
    assert run(*arguments) == 1
    assert f"clients of gantt wrote 1 providers and consumers since the last import, such as {uuid_for('pool')}" in (
        capsys.readouterr().err
    )
    assert store.snapshot() == before
    assert run("--beside-clients") == 1
    assert ended in contents(store).consumers


def test_what_clients_of_gantt_made_stays(run: Any, store: SqlStore, capsys: Any) -> None:
    assert run() == 0
    own, consumer = names.api_provider(uuid_for("own")), uuid_for("own-vm")
    store.change_provider(CreateProvider(own, "own"))
    host = names.api_provider(uuid_for("host-1"))
    assert store.allocate([AllocationChange(consumer, {host: {"VCPU": 1}}, "p", "u", None)]) is None
    before = contents(store)
    run("--beside-clients")
    after = contents(store)
    assert (after.providers, after.consumers) == (before.providers, before.consumers)
    printed = capsys.readouterr().out
    assert uuid_for("own") not in printed and consumer not in printed  # nothing was tried
    assert run("--verify") == 1
    printed = capsys.readouterr().out
    assert f"provider {uuid_for('own')} is not in the source" in printed
    assert f"consumer {consumer} is not in the source" in printed


def test_with_overwrite_gantt_gets_what_the_source_has(run: Any, partition: StorePartition, database: Any) -> None:
    store = partition.store
    assert run() == 0
    store.change_provider(SetTraits(names.api_provider(uuid_for("pool")), ["CUSTOM_OWN"]))
    store.change_provider(CreateProvider(names.api_provider(uuid_for("own")), "own"))
    host = names.api_provider(uuid_for("host-1"))
    for name in ("vm-1", "own-vm"):
        assert store.allocate([AllocationChange(uuid_for(name), {host: {"VCPU": 1}}, "p", "u", ANY)]) is None
    assert run() == 1
    assert run("--overwrite") == 0
    assert run("--verify") == 0
    partition.check()


def test_what_cannot_be_stored_is_reported_and_the_rest_carried(
    run: Any, store: SqlStore, database: PlacementFile, capsys: Any, tmp_path: Path
) -> None:
    database.provider("bad", traits=("lower case",))
    database.provider("below bad", parent="bad", inventories={"VCPU": {"total": 4}})
    database.consumer("vm-3", {"below bad": {"VCPU": 1}})
    assert run("--report", str(tmp_path / "report")) == 1
    printed = capsys.readouterr().out
    assert (tmp_path / "report").read_text() == printed
    assert f"provider {uuid_for('bad')}: " in printed
    assert f"provider {uuid_for('below bad')}: its parent {uuid_for('bad')} does not exist" in printed
    assert (
        f"consumer {uuid_for('vm-3')}: it has allocations on {uuid_for('below bad')}, which does not exist" in printed
    )
    assert len(contents(store).consumers) == 2


@pytest.mark.parametrize(
    "renames",
    [
        [("pool", "moving"), ("host-1", "pool")],
        [("pool", "x"), ("host-1", "pool"), ("x", "host-1")],
        [("pool", "x"), ("host-1", "pool"), (CHILD, "host-1"), ("x", CHILD)],
        [("pool", "x"), ("host-1", "pool"), (CHILD, "host-1")],
    ],
)
def test_names_that_providers_exchange_are_carried(
    run: Any, partition: StorePartition, database: PlacementFile, renames: list[tuple[str, str]]
) -> None:
    assert run() == 0
    for former, name in renames:
        database.execute("UPDATE resource_providers SET name = ? WHERE name = ?", name, former)
    assert run() == 0
    assert run("--verify") == 0
    partition.check()


def test_a_name_that_a_protected_provider_keeps_is_reported(
    run: Any, store: SqlStore, database: PlacementFile, capsys: Any
) -> None:
    assert run() == 0
    store.change_provider(SetTraits(names.api_provider(uuid_for("pool")), ["CUSTOM_OWN"]))
    for former, name in (("pool", "x"), ("host-1", "pool"), ("x", "host-1")):
        database.execute("UPDATE resource_providers SET name = ? WHERE name = ?", name, former)
    assert run("--beside-clients") == 1
    assert f"provider {uuid_for('host-1')}: its name belongs to {uuid_for('pool')}" in capsys.readouterr().out
    assert {provider.name for provider in contents(store).providers.values()} == {"pool", "host-1", CHILD}


def test_in_a_later_epoch_smaller_generations_are_raised_and_noted(
    run: Any, partition: StorePartition, capsys: Any
) -> None:
    partition.new_epoch()
    base = contents(partition.store).generation_base
    assert run() == 0
    assert "5 generations below" in capsys.readouterr().out
    assert {provider.generation for provider in contents(partition.store).providers.values()} == {base}
    assert run("--verify") == 0


class ChangingReader:
    """A reader whose database changes before each read but the first, a few times."""

    def __init__(self, database: PlacementFile, changes: int, stopping: threading.Event) -> None:
        self._database, self._changes, self._stopping = database, changes, stopping
        self.reads = 0

    def read(self) -> PlacementDump:
        if self.reads:
            if self.reads <= self._changes:
                self._database.allocate("vm-2", {"pool": {"DISK_GB": self.reads}})
            else:
                self._stopping.set()
        self.reads += 1
        return DatabaseReader(PlacementDatabase(self._database.url)).read()


@pytest.mark.parametrize(("until_equal", "reads"), [(False, 6), (True, 5)])
def test_follow_repeats_until_it_is_stopped_or_nothing_is_left(
    store: SqlStore, database: PlacementFile, until_equal: bool, reads: int
) -> None:
    stopping = threading.Event()
    reader = ChangingReader(database, 3, stopping)
    switchover = Switchover(reader.read, StoreReader(store).read, StoreWriter(store), Report())
    assert switchover.follow(stopping, 0, until_equal=until_equal)
    assert reader.reads == reads
    assert contents(store).consumers[uuid_for("vm-2")].allocations == {uuid_for("pool"): {"DISK_GB": 3}}
    assert list(differences(reader.read(), contents(store))) == []


@pytest.mark.parametrize("arguments", [(), ("--overwrite",), ("--dry-run",), ("--follow", "--until-equal")])
def test_an_empty_source_does_not_empty_gantt(
    run: Any, store: SqlStore, tmp_path: Path, capsys: Any, arguments: tuple[str, ...]
) -> None:
    assert run() == 0
    before = contents(store)
    empty = PlacementFile(tmp_path / "empty.sqlite")
    handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        assert placement_import.main([empty.url, "--config-file", str(tmp_path / "gantt.conf"), *arguments]) == 1
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
    assert "the source has no providers, and 3 would be deleted" in capsys.readouterr().err
    after = contents(store)
    assert (before.providers, before.consumers, before.names) == (after.providers, after.consumers, after.names)


def test_bad_ends_are_named(run: Any, tmp_path: Path, capsys: Any) -> None:
    assert placement_import.main([str(tmp_path / "none"), "--config-file", str(tmp_path / "gantt.conf")]) == 69
    assert "the other Placement: it is neither a file nor a URL" in capsys.readouterr().err
    url = "mysql://user:secret@host:port/placement"
    assert placement_import.main([url, "--config-file", str(tmp_path / "gantt.conf")]) == 69
    error = capsys.readouterr().err
    assert "the database cannot be opened" in error and "secret" not in error
    assert placement_import.main(["sqlite://", "--config-file", str(tmp_path / "none.conf")]) == 78
    for arguments in ([], ["sqlite://", "--until-equal"], ["sqlite://", "--verify", "--follow"]):
        with pytest.raises(SystemExit) as exit_info:
            placement_import.main(arguments)
        assert exit_info.value.code == 2
