# SPDX-License-Identifier: Apache-2.0
"""How subjects take turns, and what a row says of its budget."""

import gc
import signal
import sys

import pytest

from devstack.lab.rows import ResultRow, table
from devstack.lab.timing import interleave


def test_subjects_alternate_in_lots_and_the_first_lot_does_not_count():
    called = []
    ticks = []
    taken = interleave(
        {"a": lambda number: called.append(("a", number)), "b": lambda number: called.append(("b", number))},
        blocks=2,
        size=2,
        tick=lambda: ticks.append(len(called)),
    )
    assert [name for name, _ in called] == ["b", "b", "a", "a", "a", "a", "b", "b", "b", "b", "a", "a"]
    assert [number for name, number in called if name == "a"] == [0, 1, 2, 3, 4, 5]
    assert ticks == [4, 8, 12]
    assert len(taken["a"].seconds) == len(taken["b"].seconds) == 4


def test_garbage_is_collected_again_after_a_subject_fails():
    def fail(number: int) -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        interleave({"a": fail}, blocks=1, size=1)
    assert gc.isenabled()


@pytest.mark.parametrize(
    ("ratio", "budget", "bound", "ok"),
    [
        (2.0, 2.0, "at most", True),
        (2.1, 2.0, "at most", False),
        (0.9, 0.98, "at least", False),
        (9, None, "at most", True),
    ],
)
def test_a_row_says_whether_it_keeps_its_budget(ratio, budget, bound, ok):
    row = ResultRow("it", ratio, budget, bound, {"p50_us": 3.5})
    assert row.ok is ok
    assert row.as_dict()["p50_us"] == 3.5
    assert ("NO" in table([row])) is not ok


def test_figures_that_differ_share_a_column():
    shown = table(
        [ResultRow("one", 1.0, figures={"p50_us": 1.25}), ResultRow("two", 2.0, figures={"refused": 4, "how": "well"})]
    )
    assert "p50_us=1.25" in shown
    assert "refused=4 how=well" in shown
    assert "p50_us " in table([ResultRow("one", 1.0, figures={"p50_us": 1.25})])


def test_a_signal_that_comes_while_garbage_is_collected_ends_the_lab():
    # Given garbage in whose finalizer the signal arrives, where Python drops what a handler raises
    class Late:
        def __init__(self):
            self.me = self

        def __del__(self):
            signal.raise_signal(signal.SIGTERM)

    before = signal.signal(signal.SIGTERM, lambda *_: sys.exit(7))
    try:
        Late()
        with pytest.raises(SystemExit):
            interleave({"one": lambda number: None}, blocks=1, size=1)
    finally:
        signal.signal(signal.SIGTERM, before)
