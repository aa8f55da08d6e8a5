# SPDX-License-Identifier: Apache-2.0
"""select_batch through a worker: each request has its own answer, and invalid ones change nothing."""

import time
import uuid

import pytest

from rpcapi import context, errors, objects
from tests.support.scheduler.workers import FakeTransportWorker, metric_value, node_report

LARGEST = 5


@pytest.fixture(scope="module")
def worker():
    worker_ = FakeTransportWorker(driver="solver", drivers=["filter"])
    worker_.conf.set_override("max_batch", LARGEST, group="solver")
    worker_.service.start()
    for host in ("h0", "h1"):  # each with capacity for 8 processors
        worker_.join(host, {f"{host}/n": node_report()})
    yield worker_
    worker_.service.stop()
    worker_.service.wait()


def ask(worker, *specs_, details=False, **values):
    """Select hosts for instances with these numbers of processors, or these fields of a spec."""
    specs = [spec if isinstance(spec, dict) else {"resources": {"VCPU": spec}} for spec in specs_]
    columns = {
        "request_ids": [f"req-{uuid.uuid4()}" for _ in specs],
        "specs": [objects.RequestSpec.of(**spec) for spec in specs],
        "uuids": [[str(uuid.uuid4())] for _ in specs],
        "attempts": [1] * len(specs),
    } | values
    requests = objects.SelectionRequests.of(**columns)
    return requests, worker.scheduler.select_batch(context.new("p", "u"), requests, details=details)


def live(worker):
    return {claim.consumer for claim in worker.store.claims()[0]}


def give_back(worker, requests):
    worker.claims.abort_claims(context.new(), worker.refs([uuid for uuids in requests.uuids for uuid in uuids]))


def test_each_request_of_a_batch_has_its_own_answer(worker):
    requests, answers = ask(worker, 3, {"resources": {"VCPU": 5}, "driver": "filter"}, 99, {"resources": {"NOPE": 1}})
    assert [answers.selections_of(number) is not None for number in range(4)] == [True, True, False, False]
    assert answers.codes == [None, None, "no_valid_host", "unknown_resource_class"]
    assert "not enough VCPU" in answers.reasons[2]
    assert live(worker) == {requests.uuids[0][0], requests.uuids[1][0]}
    drivers = [
        worker.scheduler.explain(context.new(), request_id).document["driver"]
        for request_id in requests.request_ids[:3]
    ]
    assert drivers == ["solver", "filter", "solver"]
    give_back(worker, requests)


def test_requests_placed_together_are_counted_and_recorded(worker):
    before = metric_value("scheduler_batched_requests_total")
    requests, answers = ask(worker, 3, 8, 5)
    assert None not in [answers.selections_of(number) for number in range(3)]
    assert metric_value("scheduler_batched_requests_total") == before + 3
    batch_record = worker.scheduler.explain(context.new(), requests.request_ids[0]).document["batch"]
    assert (batch_record["calls"], batch_record["served"], batch_record["is_most"]) == (3, 3, True)
    give_back(worker, requests)


@pytest.mark.parametrize("name", ["chance", "astrology"])
def test_driver_that_is_not_configured_is_refused_before_ranking(worker, name):
    with pytest.raises(errors.UnknownDriver, match="allowed: solver, filter"):
        worker.select(driver=name)
    _, answers = ask(worker, {"resources": {"VCPU": 1}, "driver": name})
    assert answers.codes == ["unknown_driver"]
    assert live(worker) == set()


@pytest.mark.parametrize(
    ("specs", "values", "error"),
    [
        ([1] * (LARGEST + 1), {}, errors.InvalidCount),
        ([], {}, errors.InvalidCount),
        ([1, 1], {"uuids": [["a"], ["b"]]}, errors.InvalidName),
        ([1, 1], {"uuids": [[str(uuid.UUID(int=1))]] * 2}, errors.InvalidRequest),
        ([1], {"alternates": 99}, errors.InvalidRequest),
    ],
)
def test_malformed_batch_is_refused_as_a_whole(worker, specs, values, error):
    with pytest.raises(error):
        ask(worker, *specs, **values)
    assert live(worker) == set()


def test_requests_have_projects_and_deadlines_of_their_own_and_details_of_their_errors(worker):
    now = time.time()
    requests, answers = ask(
        worker,
        *[1, 1, 99],
        details=True,
        projects=["p1", "p2", "p3"],
        users=["u1", "u2", "u3"],
        deadlines=[now + 60, now - 60, 0.0],
        fresh=[True, False, True],
    )
    outcomes = [answers.outcome(number) for number in range(3)]
    assert isinstance(outcomes[0], objects.Selections)
    assert isinstance(outcomes[1], errors.DeadlinePassed)
    assert outcomes[1].kwargs["request_id"] == requests.request_ids[1]
    assert isinstance(outcomes[2], errors.NoValidHost)
    assert outcomes[2].kwargs["reasons"] == {"not enough VCPU": 2}
    (claim,) = worker.store.claims()[0]
    assert (claim.project, claim.user, claim.request_id) == ("p1", "u1", requests.request_ids[0])
    give_back(worker, requests)


def test_answer_has_no_details_by_default(worker):
    _, answers = ask(worker, 99)
    assert answers.details == []


@pytest.mark.parametrize(
    "values",
    [
        {"uuids": [[], [str(uuid.UUID(int=7))]]},
        {"attempts": [0, 1]},
        {"request_ids": ["", "req-1"]},
        {"projects": ["a\nb", "p"]},
        {"deadlines": [float(10**16), 0.0]},
    ],
)
def test_invalid_request_fails_alone_in_a_batch(worker, values):
    requests, answers = ask(worker, 1, 1, **values)
    assert answers.codes == ["invalid_request", None]
    give_back(worker, requests)


MOVE = {"role": "destination", "migration": "00000000-0000-4000-8000-000000000001", "source_attempt": 1}


def ends(worker):
    return {claim.consumer: (claim.migration, claim.source_attempt) for claim in worker.store.claims()[0]}


def test_requests_of_a_batch_have_moves_of_their_own(worker):
    requests, _answers = ask(worker, 1, 1, attempts=[2, 2], moves=[[], [MOVE]])
    assert ends(worker) == {requests.uuids[0][0]: (None, None), requests.uuids[1][0]: (MOVE["migration"], 1)}
    worker.claims.abort_claims(context.new(), worker.refs([uuids[0] for uuids in requests.uuids], 2))


def test_selected_claim_has_its_move(worker):
    spec, uuids = objects.RequestSpec.of(resources={"VCPU": 1}), [str(uuid.uuid4())]
    worker.scheduler.select_destinations(context.new("p", "u"), spec, uuids, 2, moves=[MOVE])
    assert ends(worker) == {uuids[0]: (MOVE["migration"], 1)}
    (claim,) = worker.claims.list_claims(context.new(), consumer=uuids[0]).claims
    assert (claim["role"], claim["source_attempt"]) == ("destination", 1)
    worker.claims.abort_claims(context.new(), worker.refs(uuids, 2))
