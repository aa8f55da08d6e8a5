# SPDX-License-Identifier: Apache-2.0
"""Resource reports and their answers for older peers."""

import pytest

from rpcapi import objects

NODES = {
    "h/n": {"traits": [], "facts": {"a": 1}, "numa": [], "kind": "compute"},
    "h/n/gpu": {"parent": "h/n", "inventories": {}},
    "pool": {"kind": "volume", "inventories": {}},
}


def data_for(version, nodes):
    report = objects.StatsReport.of(incarnation=1, sequence=1, nodes=nodes, partition="cell1")
    return report.obj_to_primitive(target_version=version)["gantt_object.data"]


def test_older_scheduler_gets_compute_nodes_with_the_keys_it_knows():
    assert data_for("1.1", NODES)["nodes"] == {"h/n": {"traits": []}}
    assert data_for("1.2", NODES)["nodes"] == NODES


@pytest.mark.parametrize("nodes", [[], {"h": 7}])
def test_malformed_nodes_are_sent_unchanged(nodes):
    assert data_for("1.1", nodes)["nodes"] == nodes


def test_oldest_scheduler_gets_no_partition():
    assert "partition" not in data_for("1.0", {})
    assert data_for("1.1", {})["partition"] == "cell1"


@pytest.mark.parametrize(("version", "has_keys"), [("1.0", False), ("1.1", True)])
def test_older_agent_gets_no_list_of_keys(version, has_keys):
    answer = objects.StatsAnswer.of(sequence=1, epoch=1, wanted=["traits"])
    assert ("wanted" in answer.obj_to_primitive(target_version=version)["gantt_object.data"]) is has_keys
