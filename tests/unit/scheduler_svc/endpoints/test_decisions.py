# SPDX-License-Identifier: Apache-2.0
"""Methods that explain decisions, over the bus."""

from contextlib import suppress
from types import SimpleNamespace

import oslo_messaging as messaging
import pytest

from rpcapi import context, errors
from scheduler_svc.endpoints.decisions import DecisionsEndpoint
from tests.support.scheduler.workers import node_report


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
    assert document["why"].startswith("Unknown host or node 'nowhere'")
    assert document["spec"]["force_hosts"] == ["nowhere"]


@pytest.mark.parametrize("outcome", ["selected", "refused"])
def test_decision_of_another_project_is_not_explained(outcome):
    """Called without the bus: the dispatcher sets the project of a sender."""
    partition = SimpleNamespace(name="p")
    documents = {"mine": {"outcome": outcome, "project": "one"}, "older": {"outcome": outcome}}
    partitions = SimpleNamespace(find_decision=lambda request_id, project: (partition, documents[request_id]))
    endpoint = DecisionsEndpoint(partitions, lambda kind: [], "worker")

    def explain(request_id, project):
        ctxt = context.new()
        ctxt.sender_project = project
        return endpoint.explain(ctxt, request_id=request_id).document

    assert explain("mine", "one") == explain("mine", None) == documents["mine"]
    assert explain("older", None) == documents["older"]
    for request_id, project in (("mine", "two"), ("older", "one"), ("older", "")):
        with pytest.raises(messaging.ExpectedException) as raised:
            explain(request_id, project)
        assert isinstance(raised.value.exc_info[1], errors.CallerRefused)


def test_decision_is_not_hidden_by_another_projects_with_its_request_id(worker):
    worker.join("same", {"same/1": node_report()})
    uuids = [
        worker.select(1, context.new(project, request_id="req-shared"), force_hosts=["same"])[0][0]
        for project in ("one", "two")
    ]

    def explain(project):
        document = worker.scheduler.explain(context.new(project), "req-shared").document
        return document["project"], document["verdicts"][0]["consumer"]

    assert explain("one") == ("one", uuids[0])
    assert explain("two") == explain("three") == ("two", uuids[1])


def test_records_of_selections_and_refusals_have_the_project(worker):
    worker.join("of", {"of/1": node_report()})
    for count, host in ((1, "of"), (1000, "of"), (1, "nowhere")):
        ctxt = context.new("one")
        with suppress(errors.NoValidHost, errors.UnknownHost):
            worker.select(count, ctxt, force_hosts=[host])
        assert worker.scheduler.explain(context.new(), ctxt.request_id).document["project"] == "one"
