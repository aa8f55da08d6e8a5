# SPDX-License-Identifier: Apache-2.0
"""Rows of select_destinations, of sides that answer in given times."""

import contextlib

import pytest

from devstack.lab.nova import selects
from devstack.lab.nova.paired_cloud import ECHO, OURS, THEIRS

SECONDS = {OURS: 0.002, ECHO: 0.001, THEIRS: 1.0}


class ScriptedSides:
    """Both sides without processes; Nova's filters miss hosts in each request, or do not count the last ones."""

    def __init__(self, missing=0, uncounted=0):
        self._uncounted = uncounted
        self.size = self.limit = 0
        self.echoed = []
        self._missing = missing
        self._counts = []

    def grow(self, size):
        assert size > self.size, "computes are only added"
        self.size = size

    def run_nova_scheduler(self, limit):
        self.limit = limit

    def select(self, name):
        if name == THEIRS:
            self._counts.append(min(self.size, self.limit) - self._missing)
        return {"seconds": SECONDS[name], "server": "s", "hosts": ["lab0"], "answer": [name]}

    def filtered_hosts(self):
        return self._counts[: len(self._counts) - self._uncounted]

    @contextlib.contextmanager
    def echo(self, answer):
        self.echoed.append(answer)
        yield


def measure(cloud, sizes):
    return list(selects.measure(cloud, sizes, 3))


def test_each_size_is_compared_with_nova_and_with_the_echo():
    rows = measure(ScriptedSides(), [100, 4])
    assert [row.name for row in rows] == [
        "select_destinations, 4 hosts, limit 1000: Nova + Placement / ours",
        "select_destinations, 4 hosts, limit 1000: ours / echo",
        "select_destinations, 100 hosts, limit 1000: Nova + Placement / ours",
        "select_destinations, 100 hosts, limit 1000: ours / echo",
    ]
    assert [row.ratio for row in rows] == pytest.approx([500, 2, 500, 2])
    assert {row.budget for row in rows} == {None}


def test_largest_cloud_is_measured_with_nova_s_limit_and_without():
    rows = measure(ScriptedSides(), [10_000])
    assert [row.figures["filters_saw_min"] for row in rows] == [1_000, 1_000, 10_000, 10_000]
    assert [row.budget for row in rows] == [300, 3, 300, 3]
    assert all(row.ok for row in rows)


def test_row_is_void_where_nova_s_filters_saw_too_few_hosts():
    their_row, our_row = measure(ScriptedSides(missing=1), [1_000])
    assert "void" in their_row.name and "1000 hosts in each" in their_row.name
    assert (their_row.ratio, their_row.ok) == (0.0, False)
    assert their_row.figures["filters_saw_max"] == 999
    assert "void" not in our_row.name


def test_requests_that_nova_did_not_count_make_a_row_void():
    their_row, _ = measure(ScriptedSides(uncounted=1), [4])
    assert (their_row.ratio, their_row.figures["filters_saw_min"]) == (0.0, 4)


def test_echo_answers_what_gantt_answered():
    cloud = ScriptedSides()
    measure(cloud, [4])
    assert cloud.echoed == [[OURS]]
