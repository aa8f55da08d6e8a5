# SPDX-License-Identifier: Apache-2.0
"""Metrics of calls."""

import pytest

from rpcapi import context, errors
from tests.support.scheduler.workers import metric_value, node_report


def test_calls_are_counted(worker):
    worker.join("count", {"count/1": node_report()})
    served = {"method": "select_destinations", "code": "ok"}
    refused = {"method": "select_destinations", "code": "no_valid_host"}
    before = metric_value("scheduler_calls_total", **served), metric_value("scheduler_calls_total", **refused)
    selections, fits = (
        metric_value("scheduler_instances_placed_total"),
        metric_value("scheduler_verdicts_total", verdict="FITS"),
    )
    decisions = metric_value("scheduler_decision_seconds_count")
    claim_calls = metric_value("scheduler_claim_seconds_count")
    refusals = metric_value("scheduler_refusals_total", reason="not enough VCPU")
    uuids, _ = worker.select(2, force_hosts=["count"])
    with pytest.raises(errors.NoValidHost):
        worker.select(force_hosts=["count"], resources={"VCPU": 99})
    assert (metric_value("scheduler_calls_total", **served), metric_value("scheduler_calls_total", **refused)) == (
        before[0] + 1,
        before[1] + 1,
    )
    assert metric_value("scheduler_instances_placed_total") == selections + 2
    assert metric_value("scheduler_verdicts_total", verdict="FITS") == fits + 2
    assert metric_value("scheduler_decision_seconds_count") == decisions + 2
    assert metric_value("scheduler_claim_seconds_count") > claim_calls
    confirmed = metric_value("scheduler_claims_total", verb="confirm", answer="confirmed")
    worker.claims.confirm_claims(context.new(), "count", worker.refs(uuids))
    assert metric_value("scheduler_claims_total", verb="confirm", answer="confirmed") == confirmed + 2
    assert metric_value("replica_epoch", partition="default") == worker.store.state.epoch
    assert metric_value("scheduler_refusals_total", reason="not enough VCPU") == refusals + 1
