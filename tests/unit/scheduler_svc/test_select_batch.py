# SPDX-License-Identifier: Apache-2.0
"""select_batch through a worker: each request is answered for itself, and nothing wrong changes anything."""

import uuid

import pytest

from rpcapi import context, errors, objects
from tests.unit.scheduler_svc.workers import FakeTransportWorker, metric_value, node_report

LARGEST = 5


@pytest.fixture(scope="module")
def worker():
    made = FakeTransportWorker(driver="solver", drivers=["filter"])
    made.conf.set_override("max_batch", LARGEST, group="solver")
    made.service.start()
    for host in ("h0", "h1"):  # each with room for 8 processors
        made.join(host, {f"{host}/n": node_report()})
    yield made
    made.service.stop()
    made.service.wait()


def ask(worker, *wishes, **values):
    """Ask for servers of these processors, or with these other fields of a spec."""
    specs = [wish if isinstance(wish, dict) else {"resources": {"VCPU": wish}} for wish in wishes]
    columns = {
        "request_ids": [f"req-{uuid.uuid4()}" for _ in specs],
        "specs": [objects.RequestSpec.of(**spec) for spec in specs],
        "uuids": [[str(uuid.uuid4())] for _ in specs],
        "attempts": [1] * len(specs),
    } | values
    requests = objects.SelectionRequests.of(**columns)
    return requests, worker.scheduler.select_batch(context.new("p", "u"), requests)


def live(worker):
    return {claim.consumer for claim in worker.store.claims()[0]}


def give_back(worker, requests):
    worker.claims.abort_claims(context.new(), worker.refs([one for uuids in requests.uuids for one in uuids]))


def test_each_request_is_answered_for_itself(worker):
    requests, answers = ask(worker, 3, {"resources": {"VCPU": 5}, "driver": "filter"}, 99, {"resources": {"NOPE": 1}})
    assert [answers.selections_of(number) is not None for number in range(4)] == [True, True, False, False]
    assert answers.codes == [None, None, "no_valid_host", "unknown_resource_class"]
    assert "not enough VCPU" in answers.reasons[2]
    assert live(worker) == {requests.uuids[0][0], requests.uuids[1][0]}
    drivers = [worker.scheduler.explain(context.new(), one).document["driver"] for one in requests.request_ids[:3]]
    assert drivers == ["solver", "filter", "solver"]
    give_back(worker, requests)


def test_what_is_placed_together_is_counted_and_recorded(worker):
    before = metric_value("batched_requests_total")
    requests, answers = ask(worker, 3, 8, 5)
    assert None not in [answers.selections_of(number) for number in range(3)]
    assert metric_value("batched_requests_total") == before + 3
    told = worker.scheduler.explain(context.new(), requests.request_ids[0]).document["batch"]
    assert (told["calls"], told["served"], told["is_most"]) == (3, 3, True)
    give_back(worker, requests)


@pytest.mark.parametrize("name", ["chance", "astrology"])
def test_a_driver_that_requests_may_not_name_is_refused_before_anything_is_looked_at(worker, name):
    with pytest.raises(errors.UnknownDriver, match="allowed: solver, filter"):
        worker.select(driver=name)
    _, answers = ask(worker, {"resources": {"VCPU": 1}, "driver": name})
    assert answers.codes == ["unknown_driver"]
    assert live(worker) == set()


@pytest.mark.parametrize(
    ("wishes", "values", "error"),
    [
        ([1] * (LARGEST + 1), {}, errors.InvalidCount),
        ([], {}, errors.InvalidCount),
        ([1, 1], {"uuids": [["a"], ["b"]]}, errors.InvalidName),
        ([1, 1], {"uuids": [[str(uuid.UUID(int=1))]] * 2}, errors.InvalidRequest),
        ([1], {"alternates": 99}, errors.InvalidRequest),
    ],
)
def test_a_batch_that_is_wrong_in_itself_is_refused_whole(worker, wishes, values, error):
    with pytest.raises(error):
        ask(worker, *wishes, **values)
    assert live(worker) == set()


@pytest.mark.parametrize(
    "values",
    [{"uuids": [[], [str(uuid.UUID(int=7))]]}, {"attempts": [0, 1]}, {"request_ids": ["", "req-1"]}],
)
def test_what_is_wrong_with_one_request_is_its_answer_alone(worker, values):
    requests, answers = ask(worker, 1, 1, **values)
    assert answers.codes == ["invalid_request", None]
    give_back(worker, requests)
