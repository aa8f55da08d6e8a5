# SPDX-License-Identifier: Apache-2.0
"""Methods that explain decisions, over the bus."""

import pytest

from rpcapi import context, errors
from tests.unit.scheduler_svc.fakes.workers import node_report


def test_decision_is_explained_by_request_id(worker):
    worker.join("why", {"why/1": node_report()})
    ctxt = context.new()
    uuids, _ = worker.select(1, ctxt, force_hosts=["why"])
    decision = worker.scheduler.explain(context.new(), ctxt.request_id)
    assert decision.document["outcome"] == "selected"
    assert decision.document["verdicts"][0]["consumer"] == uuids[0]
    assert decision.document["spec"]["force_hosts"] == ["why"]
    with pytest.raises(errors.UnknownDecision):
        worker.scheduler.explain(context.new(), "req-unheard-of")


def test_refusal_of_unknown_forced_host_is_explained(worker):
    ctxt = context.new()
    with pytest.raises(errors.UnknownHost, match="'nowhere'"):
        worker.select(2, ctxt, force_hosts=["nowhere"])
    document = worker.scheduler.explain(context.new(), ctxt.request_id).document
    assert (document["outcome"], document["instances"], document["hosts"]) == ("refused", 2, 0)
    assert document["why"].startswith("No host or node named 'nowhere' is known")
    assert document["spec"]["force_hosts"] == ["nowhere"]
