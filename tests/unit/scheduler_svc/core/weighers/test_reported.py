# SPDX-License-Identifier: Apache-2.0
"""Counts that agents report."""

import pytest

from scheduler_svc.core.weighers import reported
from tests.support.scheduler import hosts
from tests.support.scheduler.hosts import node, request
from tests.unit.scheduler_svc.core.weighers.raw_values import raw_values


def test_count_that_is_missing_or_negative_is_0():
    nodes = {"a": node(metrics={"instances": 4}), "b": node(), "c": node(metrics={"instances": -2})}
    with hosts.table(nodes, reads={"compute": frozenset({reported.INSTANCES})}).reading() as view:
        assert reported.count(view, reported.INSTANCES).tolist() == [4, 0, 0]


def test_count_that_workers_do_not_store_is_an_error():
    with hosts.table({"a": node()}).reading() as view, pytest.raises(LookupError, match="io_ops"):
        reported.count(view, reported.IO_OPS)


def test_columns_of_the_table_are_not_changed():
    nodes = {"a": node(metrics={"failed_builds": -3})}
    with hosts.table(nodes, reads={"compute": frozenset({reported.FAILED_BUILDS})}).reading() as view:
        reported.count(view, reported.FAILED_BUILDS)
        assert view.state("compute", reported.FAILED_BUILDS).tolist() == [-3]


@pytest.mark.parametrize(
    ("weigher", "metric", "step"),
    [
        (reported.INSTANCES_WEIGHER, "instances", 1),
        (reported.IO_OPS_WEIGHER, "io_ops", 1),
        (reported.BUILD_FAILURE_WEIGHER, "failed_builds", 0),
    ],
)
def test_number_is_the_reported_count_or_zero(weigher, metric, step):
    nodes = {"a": node(metrics={metric: 3}), "b": node(metrics={metric: -1}), "c": node()}
    assert raw_values(weigher, nodes) == [3, 0, 0]
    assert weigher.step(request()) == step


def test_fewer_failures_are_better():
    assert reported.BUILD_FAILURE_WEIGHER.sign == -1


def test_hosts_without_failures_are_equal():
    nodes = {"a": node(metrics={"failed_builds": 0}), "b": node()}
    assert raw_values(reported.BUILD_FAILURE_WEIGHER, nodes) is None
