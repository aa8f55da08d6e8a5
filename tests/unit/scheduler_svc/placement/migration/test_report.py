# SPDX-License-Identifier: Apache-2.0
"""The progress bar of a copy, at a terminal and without one."""

import io
from types import SimpleNamespace
from typing import Any

import pytest

from scheduler_svc.placement.migration import report
from scheduler_svc.placement.migration.database import PlacementDatabase
from scheduler_svc.placement.migration.database_reader import DatabaseReader
from scheduler_svc.placement.migration.report import Report
from scheduler_svc.placement.migration.store_reader import StoreReader
from scheduler_svc.placement.migration.store_writer import StoreWriter
from scheduler_svc.placement.migration.switchover import Switchover
from scheduler_svc.store.providers.changes import VOCABULARIES
from tests.support.placement.placement_database import PlacementFile
from tests.support.store.backends import memory_partition


class Terminal(io.StringIO):
    """Standard error as it is at a terminal, or redirected."""

    is_terminal = True

    def isatty(self) -> bool:
        return self.is_terminal

    @property
    def shown(self) -> list[str]:
        """What the bar showed, one after the other."""
        return [text.strip() for text in self.getvalue().split("\r") if text.strip()]


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    terminal = Terminal()
    monkeypatch.setattr(report, "sys", SimpleNamespace(stderr=terminal))  # pytest replaces sys.stderr itself
    return terminal


def test_bar_shows_how_many_are_done_and_goes_at_the_end(terminal: Terminal) -> None:
    shown = Report()
    shown.progress("consumers", 0, 4)
    assert terminal.shown[-1].startswith("consumers:   0%")
    assert "0/4" in terminal.shown[-1]
    shown._bar.mininterval = 0  # else it is drawn ten times a second
    shown.progress("consumers", 2, 4)
    assert terminal.shown[-1].startswith("consumers:  50%")
    assert "2/4" in terminal.shown[-1]
    shown.progress("consumers", 4, 4)
    assert shown._bar is None
    assert terminal.getvalue().endswith("\r")  # its line is empty


def test_next_kind_gets_a_bar_of_its_own(terminal: Terminal) -> None:
    shown = Report()
    shown.progress("providers", 1, 3)
    shown.progress("consumers", 0, 7)
    assert terminal.shown[-1].startswith("consumers:   0%")
    assert "0/7" in terminal.shown[-1]
    shown.close()
    assert shown._bar is None


def test_line_is_not_written_into_the_bar(terminal: Terminal, capsys: pytest.CaptureFixture[str]) -> None:
    shown = Report()
    shown.progress("providers", 1, 3)
    shown.line("Pass 1: wrote 1 providers")
    assert terminal.getvalue().endswith("\r")
    assert shown._bar is None
    assert capsys.readouterr().out == "Pass 1: wrote 1 providers\n"


def test_nothing_is_shown_where_there_is_no_terminal(terminal: Terminal) -> None:
    terminal.is_terminal = False
    shown = Report()
    shown.progress("consumers", 0, 4)
    shown.progress("consumers", 2, 4)
    shown.close()
    assert terminal.getvalue() == ""


def test_copy_counts_what_it_writes(database: PlacementFile, terminal: Terminal) -> None:
    steps: list[tuple[str, int, int]] = []

    class Recorder(Report):
        """A report that also records each step."""

        def progress(self, what: str, number: int, total: int) -> None:
            steps.append((what, number, total))
            super().progress(what, number, total)

    store: Any = memory_partition(namespaces=VOCABULARIES).store
    reader = DatabaseReader(PlacementDatabase(database.url))
    assert Switchover(reader.read, StoreReader(store).read, StoreWriter(store), Recorder()).copy()
    for what, total in (("providers", 3), ("consumers", 2)):
        numbers = [number for name, number, of in steps if (name, of) == (what, total)]
        assert numbers[0] == 0
        assert numbers == sorted(numbers)
        assert numbers[-1] == total
    assert any(text.startswith("consumers:") for text in terminal.shown)
