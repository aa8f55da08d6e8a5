# SPDX-License-Identifier: Apache-2.0
"""What happens to the candidates of a decision: claims in the store, or the answer as if they had been claimed."""

from rpcapi.resources.claims import Answer
from scheduler_svc.core.records import Candidate, ClaimBatch, Intent
from scheduler_svc.scheduling.calls import SelectionCall, SelectionResult
from scheduler_svc.scheduling.claimer import StoreClaimer, accept_first_candidates
from scheduler_svc.store.memory import MemoryStore
from tests.unit.scheduler_svc.fakes import hosts
from tests.unit.scheduler_svc.fakes.hosts import SMALL_REQUEST, node, request


def batch(*names_by_intent, alternates=0, epoch=1, position=1):
    intents = [
        Intent(f"vm-{number}", 1, [Candidate(name) for name in names]) for number, names in enumerate(names_by_intent)
    ]
    return ClaimBatch("req-1", "p", "u", SMALL_REQUEST, intents, epoch, position, ttl_ms=60_000, alternates=alternates)


def test_store_claimer_claims_in_the_store():
    store = MemoryStore("p")
    hosts.join(store, {"a": node(), "b": node()})
    claimer = StoreClaimer(store)
    state = store.state
    (answer,) = claimer.prepare_all([batch(["b", "a"], epoch=state.epoch, position=state.position)]).outcomes
    assert (answer.accepted, [claim.host for claim in store.claims()[0]]) == (True, ["b"])


def test_store_claimer_returns_the_claims_as_the_outcome():
    result = SelectionResult([], 1, 2, "p")
    assert StoreClaimer(MemoryStore("p")).conclude(SelectionCall(request(), ["vm-0"]), result) is result


def test_first_candidate_of_each_instance_is_accepted_with_alternates():
    answer = accept_first_candidates(batch(["a", "b", "c"], ["b"], alternates=1, epoch=3, position=9))
    assert (answer.accepted, answer.current, answer.epoch, answer.position) == (True, True, 3, 9)
    assert [(result.answer, result.host, tuple(result.alternates)) for result in answer.prepared] == [
        (Answer.PREPARED, "a", ("b",)),
        (Answer.PREPARED, "b", ()),
    ]


def test_batch_with_an_instance_without_candidates_is_refused():
    answer = accept_first_candidates(batch(["a"], []))
    assert (answer.accepted, answer.current) == (False, True)
    assert [(result.answer, result.host) for result in answer.prepared] == [(Answer.REFUSED, None)] * 2
