# SPDX-License-Identifier: Apache-2.0
"""The state file: a run continues where it ended, and figures add up."""

from collections import Counter
from pathlib import Path

import pytest

from devstack.lab.chaos.command import rows
from devstack.lab.chaos.progress import Progress
from rpcapi.cli.command import CommandFailed


def segment() -> Progress:
    """Return the figures of one segment."""
    return Progress(
        seed=3,
        segments=1,
        faults=Counter({"bus killed": 2}),
        idle_faults=Counter({"bus killed": 1}),
        answers=Counter(boot=5),
        instances=9,
        claims=8,
        violations=Counter(lost=1),
        recoveries=[3.0, 1.0],
        seconds=10.0,
    )


def test_figures_survive_the_file(tmp_path: Path) -> None:
    path = tmp_path / "state.json"
    progress = Progress.load(path, 3)
    progress.add(segment())
    progress.save(path)
    again = Progress.load(path, 3)
    again.add(segment())
    assert (again.segments, again.fault_count, again.instances, again.claims, again.seconds) == (2, 4, 18, 16, 20.0)
    assert again.faults == {"bus killed": 4} and again.violations == {"lost": 2}
    assert (again.recovery(0.5), again.recovery(0.99)) == (3.0, 3.0)
    assert Progress(3).recovery(0.5) == 0.0


def test_file_of_another_seed_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "state.json"
    segment().save(path)
    with pytest.raises(CommandFailed, match="is the progress of seed 3: continue"):
        Progress.load(path, 4)
    assert Progress.read(path).fault_count == 2
    path.write_text("[]")
    with pytest.raises(CommandFailed, match="is not the progress of a chaos run"):
        Progress.load(path, 3)
    Progress(3, schema=1).save(path)
    with pytest.raises(CommandFailed, match="has schema 1, this is schema 2"):
        Progress.read(path)


def test_rows_have_every_kind() -> None:
    table = {row.name: row for row in rows(segment())}
    assert (table["lost"].ratio, table["lost"].ok) == (1, False)
    assert (table["oversold"].ratio, table["oversold"].ok) == (0, True)
    assert table["fault: bus killed"].figures == {"idle": 1, "missed": 0}
    assert table["all faults"].ratio == 2
    assert table["recovery p99, seconds"].figures["p50_s"] == 3.0
