# SPDX-License-Identifier: Apache-2.0
"""Scores: normalised, multiplied, summed."""

import numpy as np
import pytest

from rpcapi import errors
from scheduler_svc.weighers import scoring
from tests.unit.scheduler_svc import hosts
from tests.unit.scheduler_svc.hosts import node, request

NODES = {
    "a": node({"VCPU": 4, "MEMORY_MB": 1000, "DISK_GB": 50}),
    "b": node({"VCPU": 8, "MEMORY_MB": 3000, "DISK_GB": 50}),
    "c": node({"VCPU": 6, "MEMORY_MB": 2000, "DISK_GB": 50}),
}


def score(multipliers, rows=None, asked=None, nodes=NODES):
    with hosts.table(nodes).reading() as view:
        return scoring.score(scoring.build(multipliers), view, asked or request({"VCPU": 1, "MEMORY_MB": 500}), rows)


def test_a_weigher_scales_to_the_bounds_of_the_survivors():
    assert score({"RAMWeigher": 2.0}).values.tolist() == [0.0, 2.0, 1.0]
    assert score({"RAMWeigher": 2.0}, np.array([0, 2])).values.tolist() == [0.0, 2.0]


def test_weights_are_summed_and_shown_apart():
    scores = score({"RAMWeigher": 1.0, "CPUWeigher": -0.5, "DiskWeigher": 1.0})
    assert scores.values.tolist() == [0.0, 0.5, 0.25]
    assert scores.parts.keys() == {"RAMWeigher", "CPUWeigher"}  # disks are alike: nothing to add
    assert scores.parts["CPUWeigher"].tolist() == [0.0, -0.5, -0.25]


def test_hosts_without_a_difference_score_0():
    assert score({"DiskWeigher": 3.0}).values.tolist() == [0.0, 0.0, 0.0]
    assert score({}).values.tolist() == [0.0, 0.0, 0.0]


def test_one_more_instance_changes_the_score_by_the_step():
    scores = score({"RAMWeigher": 1.0, "CPUWeigher": 2.0})
    assert scores.step == pytest.approx(-500 / 2000 - 2 * 1 / 4)
    again = {**NODES, "b": node({"VCPU": 7, "MEMORY_MB": 2500, "DISK_GB": 50})}
    moved = score({"RAMWeigher": 1.0}, nodes={**NODES, "b2": again["b"]}).values
    assert moved[3] == pytest.approx(1.0 + score({"RAMWeigher": 1.0}).step)


def test_alike_hosts_are_not_filled_one_by_one():
    assert score({"DiskWeigher": 1.0}, asked=request({"DISK_GB": 10})).step == -1.0


def test_weighers_at_0_are_left_out_and_unknown_ones_refused():
    assert scoring.build({"RAMWeigher": 0.0}) == []
    with pytest.raises(errors.BadConfiguration, match="no weigher PCIWeigher"):
        scoring.build({"PCIWeigher": 1.0})
