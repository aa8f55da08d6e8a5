# SPDX-License-Identifier: Apache-2.0
"""lab.sh boot: every server runs under its claim, and faults are reported. Times are not tested."""

import pytest

from devstack.exercise import ExerciseResult
from devstack.lab import boot
from tests.support import asking
from tests.unit.devstack.test_report import claim, instance, verify

SMALL = ("--hosts", "1", "--schedulers", "1", "--singles", "2", "--orders", "2", "--batch", "3", "--callers", "2")


@pytest.mark.parametrize("bus", ["embedded", pytest.param("rabbit", marks=pytest.mark.long)])
def test_every_server_runs_under_a_claim(bus, monkeypatch):
    monkeypatch.setattr(boot, "BLOCKS", 1)
    single, batch, answer, account = asking.run_json("boot", *SMALL, "--bus", bus)
    assert single["ratio"] == pytest.approx(single["p50_ms"] / single["echo_p50_ms"])
    assert batch["instances_per_s"] > 0
    assert batch["processor_ms"] > 0
    assert answer["ratio"] == pytest.approx(answer["echo_processor_ms"] / answer["answer_processor_ms"])
    # Two blocks of two servers, the first of them as warm-up, then two batches of three, twice
    assert (account["servers"], account["claims"], account["ratio"]) == (16, 16, 0)


@pytest.mark.parametrize(("singles", "size"), [(1, 1), (4, 1), (5, 2), (8, 2), (9, 3)])
def test_single_servers_are_divided_into_equal_blocks(singles, size):
    assert boot.block_size(singles) == size


def test_faulty_servers_and_sums_are_reported():
    good_result = ExerciseResult([instance("a"), instance("b")], [claim("a"), claim("b")], verify())
    bad_result = ExerciseResult(
        [instance("a"), instance("b", status="ERROR", reason="full")],
        [claim("a", state="prepared")],
        verify(problems=["used of h1/n1"], excess=[{"provider": "h1/n1"}]),
    )
    assert boot.find_faults(good_result) == []
    assert boot.find_faults(bad_result) == [
        "b is ERROR: full",
        "a runs without a confirmed claim",
        "used of h1/n1",
        "{'provider': 'h1/n1'}",
    ]
