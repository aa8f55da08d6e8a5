# SPDX-License-Identifier: Apache-2.0
"""[scheduler] mode = shadow, through a worker."""

import pytest

from rpcapi import context, errors, objects
from rpcapi.resources.claims import ClaimState
from tests.unit.scheduler_svc.fakes.hosts import SMALL_REQUEST, node
from tests.unit.scheduler_svc.fakes.workers import FakeTransportWorker


@pytest.fixture(scope="module")
def worker():
    worker_ = FakeTransportWorker(mode="shadow")
    worker_.service.start()
    worker_.join("h", {"h/1": node(), "h/2": node()})
    yield worker_
    worker_.service.stop()
    worker_.service.wait()


def test_a_request_is_decided_recorded_and_not_claimed(worker):
    ctxt = context.new("p", "u")
    with pytest.raises(errors.NotClaimed) as caught:
        worker.select(2, ctxt)
    assert len(caught.value.kwargs["hosts"]) == 2
    assert set(caught.value.kwargs["hosts"]) <= {"h/1", "h/2"}
    assert caught.value.kwargs["request_id"] == ctxt.request_id
    assert worker.claims.list_claims(context.new()).claims == []
    page = worker.scheduler.list_decisions(context.new())
    (recorded,) = [decision for decision in page.decisions if decision.request_id == ctxt.request_id]
    assert recorded.document["outcome"] == "shadow"
    assert worker.scheduler.explain(context.new(), ctxt.request_id).document == recorded.document


def test_request_that_no_host_fits_is_refused(worker):
    with pytest.raises(errors.NoValidHost):
        worker.select(resources={"VCPU": 1000})


def test_alternates_are_not_claimed(worker):
    standing = worker.store.snapshot()
    intents = objects.ClaimIntents.of(
        spec=objects.RequestSpec.of(resources=SMALL_REQUEST),
        consumers=["0b5b3b5e-7a55-4a3e-9f0a-6b1f6a3c9d10"],
        attempts=[2],
        replaces=[1],
        candidates=[["h/1"]],
        epoch=standing.epoch,
        position=standing.position,
    )
    with pytest.raises(errors.NotClaimed):
        worker.claims.prepare_claims(context.new("p", "u"), intents)
    assert worker.claims.list_claims(context.new()).claims == []


def test_audits_add_claims_in_shadow_mode(worker):
    uuid = "0b5b3b5e-7a55-4a3e-9f0a-6b1f6a3c9d11"
    owner = {"type": "INSTANCE", "project": "p", "user": "u", "request_id": "req-9", "group": None}
    columns = {
        "consumers": [uuid],
        "attempts": [1],
        "states": [str(ClaimState.CONFIRMED)],
        "names": ["h/1"],
        "allocations": [{"h/1": SMALL_REQUEST}],
        "owners": [owner],
    }
    worker.audit("h", worker.store.state.epoch, **columns)
    assert [claim["consumer"] for claim in worker.claims.list_claims(context.new()).claims] == [uuid]
    worker.audit("h", worker.store.state.epoch)


def test_policy_is_replaced_on_reload(worker):
    before = worker.service._worker.selection.current.policy
    worker.service.reset()
    assert worker.service._worker.selection.current.policy is not before
