# SPDX-License-Identifier: Apache-2.0
"""lab.sh import on a small Placement."""

from pathlib import Path

import pytest

from devstack.lab.switchover import AMOUNTS, BUDGET_SECONDS, TRAITS, ImportCommand, PlacementCloud
from rpcapi.cli.command import CommandFailed
from scheduler_svc.placement.migration.database import PlacementDatabase
from scheduler_svc.placement.migration.database_reader import DatabaseReader
from scheduler_svc.placement.migration.dump import PlacementDump
from tests.support import asking

HOSTS, CONSUMERS = 7, 30
SECONDS = 900  # for some starts of Python on a busy machine


@pytest.fixture
def cloud(tmp_path: Path) -> PlacementCloud:
    cloud = PlacementCloud(f"sqlite:///{tmp_path / 'placement.sqlite'}", HOSTS, CONSUMERS)
    cloud.fill()
    return cloud


def read(cloud: PlacementCloud) -> PlacementDump:
    return DatabaseReader(PlacementDatabase(cloud.url)).read()


def test_each_host_and_consumer_is_a_record_of_placement(cloud: PlacementCloud) -> None:
    contents = read(cloud)
    assert (len(contents.providers), len(contents.consumers)) == (HOSTS, CONSUMERS)
    assert {len(provider.traits) for provider in contents.providers.values()} == {TRAITS}
    allocations_of_consumers = [record.allocations for record in contents.consumers.values()]
    assert {
        provider for allocations in allocations_of_consumers for provider in allocations
    } == contents.providers.keys()
    assert all(list(allocations.values()) == [AMOUNTS] for allocations in allocations_of_consumers)


@pytest.mark.parametrize(("one_of", "hosts", "consumers"), [(1, HOSTS, CONSUMERS), (5, 1, 6)])
def test_a_change_increases_generations(cloud: PlacementCloud, one_of: int, hosts: int, consumers: int) -> None:
    before = read(cloud)
    cloud.change(one_of)
    after = read(cloud)
    assert sum(after.providers[uuid] != record for uuid, record in before.providers.items()) == hosts
    assert sum(after.consumers[uuid] != record for uuid, record in before.consumers.items()) == consumers


@pytest.mark.timeout(SECONDS)
def test_each_pass_has_a_row_and_last_passes_a_budget() -> None:
    sizes = ("--hosts", str(HOSTS), "--consumers", str(CONSUMERS), "--database", "sqlite")
    rows = {row["name"]: row for row in asking.run_json("import", *sizes)}
    assert list(rows) == [
        "import, first copy",
        "import, last pass, 1 % changed",
        "import, last pass, all changed",
        "import, verify",
    ]
    assert [row["budget"] for row in rows.values()] == [None, 1.0, 1.0, None]
    for row in rows.values():
        assert row["ratio"] == pytest.approx(row["s"] / BUDGET_SECONDS)
        assert (row["hosts"], row["consumers"], row["database"]) == (HOSTS, CONSUMERS, "sqlite")


def test_failed_import_is_no_measurement(tmp_path: Path) -> None:
    command = ImportCommand(f"sqlite:///{tmp_path / 'nothing.sqlite'}", tmp_path / "missing.conf")
    with pytest.raises(CommandFailed, match="gantt-placement-import failed"):
        command.seconds()
    with pytest.raises(CommandFailed, match="gantt-placement-import failed"):
        command.last_pass_seconds(lambda: None)
