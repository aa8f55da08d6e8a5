# SPDX-License-Identifier: Apache-2.0
"""gantt-lab trees: that it measures what it says. How fast that is, no test says."""

import argparse

import pytest

from devstack.lab import driver, trees
from rpcapi.model.groups import ISOLATE, NONE
from tests.unit.devstack.lab import asking


def test_answers_in_the_programs_form_where_there_is_no_peer(tmp_path):
    rows = asking.run_json("trees", "--hosts", "2", "--devices", "3", "--groups", "1,3", "--cache", str(tmp_path))
    assert [row["hosts_found"] for row in rows] == [2] * 4
    for row in rows:
        assert row["ratio"] == pytest.approx(row["p50_us"] / row["without_p50_us"])


@pytest.mark.parametrize("policy", [NONE, ISOLATE])
def test_every_host_with_enough_devices_is_found_and_no_other(policy):
    table, ranker = trees.make_table(10, 8), driver.default()
    assert trees.decision_subject(ranker, table, trees.request(8, policy))(1) == 10
    assert trees.decision_subject(ranker, table, trees.request(9, policy))(1) == 0


def test_both_are_asked_about_the_same_providers():
    told = trees.placement_providers(3, 2)
    table = trees.make_table(3, 2)
    (part,) = table.partitions
    assert len(told) == len(part.rows) + len(part.forest.rows) == 9
    assert {each["root"] for each in told} == {each["uuid"] for each in told if each["parent"] is None}


def test_groups_are_counts():
    with pytest.raises(argparse.ArgumentTypeError):
        trees._counts("1,0")
