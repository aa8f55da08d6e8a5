# SPDX-License-Identifier: Apache-2.0
"""Host scores: normalisation, multipliers and sums."""

import numpy as np
import pytest

from rpcapi import errors
from scheduler_svc.core.weighers import scoring
from tests.support.scheduler import hosts
from tests.support.scheduler.hosts import node, request

NODES = {
    "a": node({"VCPU": 4, "MEMORY_MB": 1000, "DISK_GB": 50}),
    "b": node({"VCPU": 8, "MEMORY_MB": 3000, "DISK_GB": 50}),
    "c": node({"VCPU": 6, "MEMORY_MB": 2000, "DISK_GB": 50}),
}


def score(multipliers, rows=None, scheduling_request=None, nodes=NODES):
    weighers = scoring.build(multipliers)
    with hosts.table(nodes, reads=weighers.reads).reading() as view:
        return scoring.score(weighers, view, scheduling_request or request({"VCPU": 1, "MEMORY_MB": 500}), rows)


def test_amount_weigher_scales_to_the_maximum_of_the_survivors():
    assert score({"RAMWeigher": 2.0}).values.tolist() == pytest.approx([2 / 3, 2.0, 4 / 3])
    assert score({"RAMWeigher": 2.0}, np.array([0, 2])).values.tolist() == [1.0, 2.0]


def test_scores_are_sums_with_separate_parts():
    scores = score({"RAMWeigher": 1.0, "CPUWeigher": -0.5, "DiskWeigher": 1.0})
    assert scores.values.tolist() == pytest.approx([1 / 3 - 1 / 4 + 1, 1 - 1 / 2 + 1, 2 / 3 - 3 / 8 + 1])
    assert scores.parts["CPUWeigher"].tolist() == [-0.25, -0.5, -0.375]


def test_equal_hosts_have_equal_scores():
    assert score({"DiskWeigher": 3.0}).values.tolist() == [3.0, 3.0, 3.0]
    assert score({}).values.tolist() == [0.0, 0.0, 0.0]


def test_score_changes_by_the_step_per_instance():
    scores = score({"RAMWeigher": 1.0, "CPUWeigher": 2.0})
    assert scores.step == pytest.approx(-500 / 3000 - 2 * 1 / 8)
    again = node({"VCPU": 7, "MEMORY_MB": 2500, "DISK_GB": 50})
    moved = score({"RAMWeigher": 1.0}, nodes={**NODES, "b2": again}).values
    assert moved[3] == pytest.approx(1.0 + score({"RAMWeigher": 1.0}).step)


def test_equal_hosts_are_filled_evenly():
    assert score({"NumInstancesWeigher": -1.0}).step == -1.0


def test_weigher_with_multiplier_0_has_no_part_and_unknown_weigher_raises():
    assert score({"RAMWeigher": 0.0}).parts == {}
    with pytest.raises(errors.BadConfiguration, match="unknown weigher HeavyWeigher"):
        scoring.build({"HeavyWeigher": 1.0})
