# SPDX-License-Identifier: Apache-2.0
"""The report of the checker: all violations, sorted, counted by kind, and as text."""

from devstack.lab.chaos.checker import CheckReport, check
from devstack.lab.chaos.final_state import FinalState, GuestFile
from devstack.lab.chaos.history import CallHistory
from devstack.lab.chaos.violations import Violation, ViolationKind


def test_run_without_instances_has_no_violations() -> None:
    assert check(CallHistory(), FinalState()).violations == []


def test_violations_of_the_final_state_are_reported() -> None:
    report = check(CallHistory(), FinalState(guests=[GuestFile("h1", "a", 1, "h1/node0")]))
    assert report.counts[ViolationKind.UNCLAIMED] == 1
    assert list(report.violations) == sorted(report.violations)


def test_counts_have_every_kind() -> None:
    counts = CheckReport([Violation(ViolationKind.LOST, "a", "why")] * 2).counts
    assert counts == {kind.value: 2 if kind is ViolationKind.LOST else 0 for kind in ViolationKind}


def test_text_ends_with_the_number_of_violations_left_out() -> None:
    report = CheckReport([Violation(ViolationKind.LOST, name, "it is gone") for name in "abc"])
    assert report.text(2) == "lost: a: it is gone\nlost: b: it is gone\nand 1 more"
    assert report.text(3).count("\n") == 2
