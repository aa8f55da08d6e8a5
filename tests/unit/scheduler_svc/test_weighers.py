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
    weighted = scoring.build(multipliers)
    with hosts.table(nodes, reads=weighted.reads).reading() as view:
        return scoring.score(weighted, view, asked or request({"VCPU": 1, "MEMORY_MB": 500}), rows)


def test_a_weigher_of_amounts_scales_to_the_most_of_the_survivors():
    assert score({"RAMWeigher": 2.0}).values.tolist() == pytest.approx([2 / 3, 2.0, 4 / 3])
    assert score({"RAMWeigher": 2.0}, np.array([0, 2])).values.tolist() == [1.0, 2.0]


def test_weights_are_summed_and_shown_apart():
    scores = score({"RAMWeigher": 1.0, "CPUWeigher": -0.5, "DiskWeigher": 1.0})
    assert scores.values.tolist() == pytest.approx([1 / 3 - 1 / 4 + 1, 1 - 1 / 2 + 1, 2 / 3 - 3 / 8 + 1])
    assert scores.parts["CPUWeigher"].tolist() == [-0.25, -0.5, -0.375]


def test_hosts_without_a_difference_score_alike():
    assert score({"DiskWeigher": 3.0}).values.tolist() == [3.0, 3.0, 3.0]
    assert score({}).values.tolist() == [0.0, 0.0, 0.0]


def test_one_more_instance_changes_the_score_by_the_step():
    scores = score({"RAMWeigher": 1.0, "CPUWeigher": 2.0})
    assert scores.step == pytest.approx(-500 / 3000 - 2 * 1 / 8)
    again = node({"VCPU": 7, "MEMORY_MB": 2500, "DISK_GB": 50})
    moved = score({"RAMWeigher": 1.0}, nodes={**NODES, "b2": again}).values
    assert moved[3] == pytest.approx(1.0 + score({"RAMWeigher": 1.0}).step)


def test_alike_hosts_are_not_filled_one_by_one():
    assert score({"NumInstancesWeigher": -1.0}).step == -1.0


def test_weighers_at_0_add_nothing_and_unknown_ones_are_refused():
    assert score({"RAMWeigher": 0.0}).parts == {}
    with pytest.raises(errors.BadConfiguration, match="no weigher HeavyWeigher"):
        scoring.build({"HeavyWeigher": 1.0})
