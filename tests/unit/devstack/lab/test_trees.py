# SPDX-License-Identifier: Apache-2.0
"""lab.sh trees: it measures decisions on provider trees. Times are not tested."""

import pytest

from devstack.lab import default_driver, trees
from devstack.lab.decide import ranking_subject
from rpcapi.resources.groups import ISOLATE, NONE
from tests.support import asking


def test_json_rows_without_a_peer(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    *rows, search = asking.run_json("trees", "--hosts", "2", "--devices", "3", "--groups", "1,3")
    assert [row["hosts_found"] for row in rows] == [2] * 4
    for row in rows:
        assert row["ratio"] == pytest.approx(row["p50_us"] / row["without_p50_us"])
    assert search["ratio"] == pytest.approx(search["p99_ms"] / trees.SEARCH_AIM_MS)
    assert search["undecided"] > 0.9 * trees.HARD_SEARCHES


@pytest.mark.parametrize("policy", [NONE, ISOLATE])
def test_hosts_with_enough_devices_are_found_and_no_others(policy):
    table, ranker = trees.make_table(10, 8), default_driver.default()

    def found_hosts(devices):
        return trees.found_hosts(ranking_subject(ranker, table, [trees.request(devices, policy)]))

    assert found_hosts(8) == 10
    assert found_hosts(9) == 0


def test_placement_gets_the_same_providers():
    providers = trees.placement_providers(3, 2)
    table = trees.make_table(3, 2)
    (partition,) = table.partitions
    assert len(providers) == len(partition.rows) + len(partition.forest.rows) == 9
    assert {item["root"] for item in providers} == {item["uuid"] for item in providers if item["parent"] is None}
