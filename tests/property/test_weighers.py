# SPDX-License-Identifier: Apache-2.0
"""Scores and rankings compared with plain Python."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scheduler_svc.core.built_in import DEFAULT_FILTERS
from scheduler_svc.core.drivers.driver import MAX_CANDIDATES
from scheduler_svc.core.drivers.filter import FilterDriver
from scheduler_svc.core.drivers.random_choice import SeededRandom, top_indexes
from scheduler_svc.core.filtering import pipeline
from scheduler_svc.core.request import SchedulingRequest
from scheduler_svc.core.weighers import scoring
from tests.support.scheduler import hosts

CLASSES = {"RAMWeigher": "MEMORY_MB", "CPUWeigher": "VCPU", "DiskWeigher": "DISK_GB"}
MULTIPLIERS = st.dictionaries(st.sampled_from(tuple(CLASSES)), st.sampled_from((0.0, 1.0, 2.5, -1.0)))
TOTAL_AND_USED = st.tuples(st.integers(1, 60), st.integers(0, 60)).map(lambda drawn: (max(drawn), min(drawn)))
NODES = st.lists(st.fixed_dictionaries(dict.fromkeys(CLASSES.values(), TOTAL_AND_USED)), min_size=1, max_size=40)
AMOUNTS = st.dictionaries(st.sampled_from(tuple(CLASSES.values())), st.integers(1, 20), min_size=1)


def amounts_by_node(nodes, part):
    """Return {name: {class: total or used}}."""
    return {
        f"h{number:02}": {resource_class: figures[part] for resource_class, figures in amounts.items()}
        for number, amounts in enumerate(nodes)
    }


def table(nodes):
    totals = {name: hosts.node(totals_of_node) for name, totals_of_node in amounts_by_node(nodes, 0).items()}
    return hosts.table(totals, used=amounts_by_node(nodes, 1))


def free(amounts, resource_class):
    total, used = amounts[resource_class]
    return total - used


def expected(nodes, multipliers):
    """Return the sum of normalised weights of each host, as in Nova."""
    scores = [0.0] * len(nodes)
    for name, multiplier in multipliers.items():
        free_amounts = [free(node, CLASSES[name]) for node in nodes]
        maximum = max(free_amounts)
        if maximum:
            for index, free_amount in enumerate(free_amounts):
                scores[index] += multiplier * free_amount / maximum
    return scores


@settings(max_examples=200, deadline=None)
@given(NODES, MULTIPLIERS, st.data())
def test_scores_are_sums_of_normalised_weights_over_passing_hosts(nodes, multipliers, data):
    rows = data.draw(st.lists(st.sampled_from(range(len(nodes))), min_size=1, unique=True).map(sorted))
    with table(nodes).reading() as view:
        scores = scoring.score(scoring.build(multipliers), view, SchedulingRequest("r", {"VCPU": 1}), np.array(rows))
        all_scores = scoring.score(scoring.build(multipliers), view, SchedulingRequest("r", {"VCPU": 1}), None)
    assert scores.values.tolist() == pytest.approx(expected([nodes[row] for row in rows], multipliers))
    assert all_scores.values.tolist() == pytest.approx(expected(nodes, multipliers))
    if scores.parts:
        assert sum(scores.parts.values()).tolist() == pytest.approx(scores.values.tolist())


@settings(max_examples=200, deadline=None)
@given(st.lists(st.integers(0, 6), min_size=1, max_size=80), st.integers(1, 40), st.integers(0, 2**40))
def test_best_rows_have_the_highest_scores_for_any_seed(values, count, seed):
    scores = np.array(values, dtype=float)
    best_rows = top_indexes(scores, count, SeededRandom(seed)).tolist()
    assert [values[index] for index in best_rows] == sorted(values, reverse=True)[:count]
    assert len(set(best_rows)) == len(best_rows)


@settings(max_examples=200, deadline=None)
@given(NODES, MULTIPLIERS, AMOUNTS, st.integers(1, 30), st.data())
def test_ranking_has_capacity_for_all_instances_or_no_candidates(nodes, multipliers, amounts, count, data):
    subset, seed = data.draw(st.integers(1, 4)), data.draw(st.integers(0, 2**40))
    driver = FilterDriver(pipeline.build(DEFAULT_FILTERS), scoring.build(multipliers), subset)
    capacities = {
        f"h{number:02}": min(free(node, resource_class) // amount for resource_class, amount in amounts.items())
        for number, node in enumerate(nodes)
    }
    with table(nodes).reading() as view:
        ranking = driver.rank(view, SchedulingRequest("r", amounts), count, seed)
    if sum(capacities.values()) < count:
        assert not ranking.candidates
        assert sum(ranking.reasons.values()) == len(nodes)
        return
    assert len(ranking.candidates) == count
    for candidates in ranking.candidates:
        assert 1 <= len(candidates) == len(set(candidates)) <= MAX_CANDIDATES
        assert all(capacities[name] for name in candidates)
    first_choices = Counter(candidates[0] for candidates in ranking.candidates)
    assert all(capacities[name] >= count_of_host for name, count_of_host in first_choices.items())
