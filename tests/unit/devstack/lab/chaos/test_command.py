# SPDX-License-Identifier: Apache-2.0
"""lab.sh chaos: an interrupted run continues after the last finished segment."""

import io
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from devstack.lab.chaos import command
from devstack.lab.chaos.checker import CheckReport
from devstack.lab.chaos.progress import Progress
from devstack.lab.chaos.violations import Violation, ViolationKind
from devstack.lab.main import LabApp


class FakeSegment:
    """A segment whose faults all occur; it fails where its seed is in ``failing``."""

    failing: frozenset[str] = frozenset()
    violations: Sequence[Violation] = ()
    seeds: list[str]

    def __init__(
        self, folder: Path, seed: str, kinds: Sequence[str], counts: Progress, say: Any, **options: Any
    ) -> None:
        self.folder, self.seed, self.kinds = folder, seed, kinds
        self.figures = Progress(counts.seed)

    def run(self, faults: int, load_target: int, most_at_once: int) -> CheckReport:
        self.seeds.append(self.seed)
        if self.seed in self.failing:
            raise TimeoutError("no node accepts claims")
        self.figures.segments = 1
        self.figures.faults = Counter({self.kinds[0]: faults})
        self.figures.violations = Counter(item.kind.value for item in self.violations)
        (self.folder / "history").write_text("evidence")
        return CheckReport(self.violations)


@pytest.fixture
def segment(monkeypatch: pytest.MonkeyPatch) -> type[FakeSegment]:
    """The class of the segments that the command runs."""
    cls: type[FakeSegment] = type("OwnSegment", (FakeSegment,), {"seeds": []})
    monkeypatch.setattr(command, "Segment", cls)
    return cls


def run(tmp_path: Path, *arguments: str) -> tuple[int, str]:
    """Run the command; return its exit code and its messages."""
    streams = {name: io.StringIO() for name in ("stdout", "stderr")}
    app = LabApp(**streams)
    code = app.run(["chaos", "--json", "--state", str(tmp_path / "state"), "--segment", "4", *arguments])
    return code, streams["stderr"].getvalue()


def test_run_ends_with_the_number_of_faults(tmp_path: Path, segment: type[FakeSegment]) -> None:
    code, messages = run(tmp_path, "--faults", "10", "--seed", "7", "--only", "bus killed")
    assert (code, segment.seeds) == (0, ["7/0", "7/1", "7/2"])
    assert messages.count("no violation") == 3
    assert Progress.load(tmp_path / "state", 7).faults == {"bus killed": 10}


def test_interrupted_run_continues_with_the_next_segment(tmp_path: Path, segment: type[FakeSegment]) -> None:
    segment.failing = frozenset({"1/1"})
    code, messages = run(tmp_path, "--faults", "8")
    assert code != 0 and "segment 1 failed: no node accepts claims" in messages
    segment.failing = frozenset()
    assert run(tmp_path, "--faults", "8")[0] == 0
    assert segment.seeds == ["1/0", "1/1", "1/1"]


def test_figures_of_a_run_beside_this_one_are_added(tmp_path: Path, segment: type[FakeSegment]) -> None:
    Progress(2, segments=1, faults=Counter({"bus killed": 3}), violations=Counter(lost=1)).save(tmp_path / "other")
    code, _ = run(tmp_path, "--faults", "4", "--also", str(tmp_path / "other"))
    assert code == 1
    assert Progress.load(tmp_path / "state", 1).fault_count == 4


def test_violation_fails_the_run_and_keeps_evidence(tmp_path: Path, segment: type[FakeSegment]) -> None:
    segment.violations = [Violation(ViolationKind.LOST, "a", "has no record")]
    code, messages = run(tmp_path, "--faults", "4", "--evidence", str(tmp_path / "kept"))
    assert code == 1 and "lost: a: has no record" in messages
    assert (tmp_path / "kept" / "segment-0" / "history").read_text() == "evidence"


def test_no_kind_is_left(tmp_path: Path, segment: type[FakeSegment]) -> None:
    code, messages = run(tmp_path, "--only", "bus killed", "--without", "bus killed")
    assert code != 0 and "no kind of fault is left" in messages
