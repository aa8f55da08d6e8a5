# SPDX-License-Identifier: Apache-2.0
"""gantt-lab boot: that every server runs under its claim, and that one which does not is told of. How fast, no test."""

import pytest

from devstack.exercise import ExerciseResult
from devstack.lab import boot_course
from devstack.lab.boot_course import BootPlan
from tests.unit.devstack.lab import asking
from tests.unit.devstack.test_report import claim, instance, verify

SMALL = ("--hosts", "1", "--schedulers", "1", "--singles", "2", "--orders", "1", "--batch", "3")


@pytest.mark.parametrize("bus", ["embedded", pytest.param("rabbit", marks=pytest.mark.long)])
def test_every_server_runs_under_a_claim(bus, monkeypatch):
    monkeypatch.setattr(boot_course, "BLOCKS", 1)
    single, many, account = asking.run_json("boot", *SMALL, "--bus", bus)
    assert single["ratio"] == pytest.approx(single["p50_ms"] / single["echo_p50_ms"])
    assert many["instances_per_s"] > 0
    # Two lots of two servers, the first of them to warm up, then three at once
    assert (account["servers"], account["claims"], account["ratio"]) == (7, 7, 0)


def test_counts_the_warm_up_and_rounds_lots_up():
    assert BootPlan(singles=40, orders=4, batch=100).servers == 50 + 400
    assert BootPlan(singles=1, orders=1, batch=1).servers == 5 + 1


def test_tells_of_each_server_and_sum_that_is_not_as_it_should_be():
    good = ExerciseResult([instance("a"), instance("b")], [claim("a"), claim("b")], verify())
    bad = ExerciseResult(
        [instance("a"), instance("b", status="ERROR", reason="full")],
        [claim("a", state="prepared")],
        verify(problems=["used of h1/n1"], excess=[{"provider": "h1/n1"}]),
    )
    assert boot_course.find_faults(good) == []
    assert [sentence.split(" ")[0] for sentence in boot_course.find_faults(bad)] == ["b", "a", "used", "{'provider':"]
