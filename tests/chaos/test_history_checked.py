# SPDX-License-Identifier: Apache-2.0
"""Faults on a whole cluster under load; afterwards the checker finds every promise to a caller kept.

`lab.sh chaos` is the long form, of hours; this is one segment of it, by a fixed seed.
"""

from collections.abc import Sequence
from pathlib import Path

import pytest

from devstack.lab.chaos.draw import KINDS
from devstack.lab.chaos.progress import Progress
from devstack.lab.chaos.segment import Segment
from devstack.servers.errors import BinaryMissing
from tests.support.servers import missing

# Killed daemons, workers and servers are in test_kill_everything.py.
SHORT = (
    "killed between two steps",
    "messages duplicated and reordered",
    "store failed over to a lagging replica",
)


def run_segment(folder: Path, kinds: Sequence[str], faults: int, load_target: int) -> Segment:
    """Run a segment, and assert that there is no violation and that the cluster recovered from each fault."""
    lines: list[str] = []
    segment = Segment(folder, "1", sorted(kinds), Progress(seed=1), lines.append)
    try:
        report = segment.run(faults, load_target, most_at_once=3)
    except BinaryMissing as why:
        missing(why)
    assert not report.violations, "\n".join([*lines, report.text()])
    assert not segment.figures.unrecovered, "\n".join(lines)
    assert segment.figures.instances > 0
    return segment


@pytest.mark.timeout(600)
def test_one_fault_of_some_kinds(run_folder: Path) -> None:
    run_segment(run_folder, SHORT, len(SHORT), load_target=30)


@pytest.mark.long
@pytest.mark.timeout(3600)
def test_faults_of_all_kinds(run_folder: Path) -> None:
    segment = run_segment(run_folder, sorted(KINDS), 2 * len(KINDS), load_target=60)
    assert segment.figures.fault_count + sum(segment.figures.missed.values()) == 2 * len(KINDS)
