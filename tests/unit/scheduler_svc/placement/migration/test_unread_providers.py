# SPDX-License-Identifier: Apache-2.0
"""Copies of a Placement in which a provider changes while it is read: the rest is carried, and it is reported."""

import dataclasses
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from scheduler_svc.cmd import placement_import
from scheduler_svc.placement.migration.database import PlacementDatabase
from scheduler_svc.placement.migration.database_reader import DatabaseReader
from scheduler_svc.placement.migration.differences import differences
from scheduler_svc.placement.migration.dump import PlacementDump
from scheduler_svc.placement.migration.report import Report
from scheduler_svc.placement.migration.store_reader import StoreReader
from scheduler_svc.placement.migration.store_writer import StoreWriter
from scheduler_svc.placement.migration.switchover import Switchover
from scheduler_svc.store.providers.changes import VOCABULARIES, ImportProvider
from tests.support.placement.placement_database import CHILD, PlacementFile, uuid_for
from tests.support.store.backends import memory_partition

WHY = "its name is n, and it changed during each of 10 reads"


class PartialReader:
    """A reader that cannot read some providers, by the number of the read; ``then`` is called before each read."""

    def __init__(self, database: PlacementFile, unread: list[list[str]], then: Callable[[int], None]) -> None:
        self._database, self._unread, self._then = database, unread, then
        self.reads = 0

    def read(self) -> PlacementDump:
        self._then(self.reads)
        names = self._unread[min(self.reads, len(self._unread) - 1)]
        self.reads += 1
        contents = DatabaseReader(PlacementDatabase(self._database.url)).read()
        uuids = [uuid_for(name) for name in names]
        providers = {uuid: record for uuid, record in contents.providers.items() if uuid not in uuids}
        return dataclasses.replace(contents, providers=providers, unread=dict.fromkeys(uuids, WHY))


@pytest.fixture
def partition() -> Any:
    return memory_partition(namespaces=VOCABULARIES)


@pytest.fixture
def make(partition: Any, database: PlacementFile) -> Callable[..., tuple[Switchover, PartialReader]]:
    """Returns a copy to gantt from a reader of the database."""

    def make(
        *unread: list[str], then: Callable[[int], None] = lambda number: None, is_rehearsal: bool = False
    ) -> tuple[Switchover, PartialReader]:
        reader = PartialReader(database, list(unread), then)
        writer = StoreWriter(partition.store, dry_run=is_rehearsal)
        return Switchover(reader.read, StoreReader(partition.store).read, writer, Report()), reader

    return make


def stored(partition: Any) -> PlacementDump:
    return StoreReader(partition.store).read()


def source(database: PlacementFile) -> PlacementDump:
    return DatabaseReader(PlacementDatabase(database.url)).read()


def test_the_rest_is_carried_and_the_provider_reported(
    make: Any, partition: Any, database: PlacementFile, capsys: Any
) -> None:
    switchover, _ = make([CHILD])
    assert not switchover.copy()
    expected = source(database)
    assert stored(partition).providers.keys() == {uuid_for("host-1"), uuid_for("pool")}
    assert stored(partition).consumers == {uuid_for("vm-2"): expected.consumers[uuid_for("vm-2")]}
    output = capsys.readouterr().out
    assert "Not carried: 2" in output
    assert f"  provider {uuid_for(CHILD)}: {WHY}" in output
    assert f"  consumer {uuid_for('vm-1')}: it has allocations on {uuid_for(CHILD)}, which does not exist" in output
    partition.check()


def test_what_an_earlier_pass_carried_stays(make: Any, partition: Any, database: PlacementFile) -> None:
    assert make([])[0].copy()
    before = stored(partition)
    database.allocate("vm-2", {"pool": {"DISK_GB": 3}})
    assert not make(["pool"])[0].copy()
    after = stored(partition)
    assert after.providers == before.providers
    # What holds from it is known, and carried
    assert after.consumers == source(database).consumers
    partition.check()


def test_a_source_of_which_nothing_can_be_read_empties_nothing(make: Any, partition: Any, capsys: Any) -> None:
    assert make([])[0].copy()
    before = stored(partition)
    everything = ["host-1", CHILD, "pool"]
    assert {uuid_for(name) for name in everything} == before.providers.keys()
    assert not make(everything)[0].copy()
    assert (stored(partition).providers, stored(partition).consumers) == (before.providers, before.consumers)
    assert "Not carried: 3" in capsys.readouterr().out


def test_a_later_pass_carries_it(make: Any, partition: Any, database: PlacementFile, capsys: Any) -> None:
    stopping = threading.Event()
    switchover, reader = make(["pool"], ["pool"], [], then=lambda number: stopping.set() if number == 2 else None)
    assert switchover.follow(stopping, 0)
    assert reader.reads == 4
    assert list(differences(source(database), stored(partition))) == []
    output = capsys.readouterr().out
    assert output.count(f"To read again in the next pass: 1\n  provider {uuid_for('pool')}: {WHY}") == 2
    assert "Not carried" not in output


def test_both_are_not_equal_before_it_is_read(make: Any, partition: Any, database: PlacementFile) -> None:
    switchover, reader = make(["pool"], ["pool"], ["pool"], [])
    assert switchover.follow(threading.Event(), 0, until_equal=True)
    # The second and the third pass write nothing, and cannot be the last; the fourth writes it
    assert reader.reads == 5
    assert list(differences(source(database), stored(partition))) == []


def test_the_last_pass_fails_where_it_is_still_not_read(make: Any, capsys: Any) -> None:
    stopping = threading.Event()
    stopping.set()
    switchover, _ = make(["pool"])
    assert not switchover.follow(stopping, 0)
    output = capsys.readouterr().out
    assert f"  provider {uuid_for('pool')}: {WHY}" in output
    assert "To read again" not in output


def test_verify_does_not_call_both_equal(make: Any, capsys: Any) -> None:
    assert make([])[0].copy()
    capsys.readouterr()
    assert not make(["pool"])[0].verify()
    output = capsys.readouterr().out
    assert f"Not compared: 1\n  provider {uuid_for('pool')}: {WHY}" in output
    assert "Differences" not in output
    assert make([])[0].verify()


def test_a_rehearsal_names_it(make: Any, partition: Any, capsys: Any) -> None:
    assert not make(["pool"], is_rehearsal=True)[0].copy()
    assert f"  provider {uuid_for('pool')}: {WHY}" in capsys.readouterr().out
    assert stored(partition).providers == {}


def test_what_is_below_it_waits_for_it(make: Any, partition: Any, capsys: Any) -> None:
    assert not make(["host-1"])[0].copy()
    providers: dict[str, ImportProvider] = stored(partition).providers
    assert set(providers) == {uuid_for("pool")}
    assert f"its parent {uuid_for('host-1')} does not exist" in capsys.readouterr().out


def test_the_command_fails_and_names_it(
    make: Any, database: PlacementFile, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    _, reader = make(["pool"])
    monkeypatch.setattr(placement_import, "open_source", lambda source, progress: reader)
    configuration = tmp_path / "gantt.conf"
    configuration.write_text(f"[store]\nurl = sqlite:///{tmp_path}/gantt.sqlite\n")
    assert placement_import.main(["http://placement", "--config-file", str(configuration)]) == 1
    assert f"provider {uuid_for('pool')}: {WHY}" in capsys.readouterr().out
