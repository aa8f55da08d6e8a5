# SPDX-License-Identifier: Apache-2.0
"""Claims on the alternates of an earlier decision."""

from dataclasses import replace

import pytest

from rpcapi import context, errors
from rpcapi.resources.claims import MAX_INSTANCES, Answer, Verdict
from rpcapi.resources.groups import RequestGroup
from rpcapi.resources.trees.tree import SHARING_TRAIT
from scheduler_svc.core.records import BatchAnswer, Candidate, ClaimBatch, Intent, IntentResult
from scheduler_svc.endpoints import encode
from scheduler_svc.scheduling.alternates import AlternateClaimer, PreparedBatch
from scheduler_svc.scheduling.ranking import CurrentPolicy
from scheduler_svc.store.memory import MemoryStore
from tests.support.scheduler import hosts
from tests.support.scheduler.hosts import SMALL_REQUEST, node, request
from tests.support.scheduler.replica_views import FILTER_POLICY, FollowingReplicaView, unchanged


class AlternatesPartition:
    def __init__(self):
        self.store = MemoryStore("p")
        hosts.join(self.store, {"a": node(), "b": node(), "c": node()})
        self.replica_view = FollowingReplicaView(self.store)
        self.alternates = AlternateClaimer(CurrentPolicy(FILTER_POLICY), self.store, self.replica_view, 1.0, unchanged)
        self.ranked_at = self.replica_view.table.partitions[0].position
        self.epoch = self.replica_view.table.partitions[0].epoch

    def prepare(self, *names, attempt=1, replaces=None, scheduling_request=None, ctxt=None, consumer="vm"):
        intent = Intent(consumer, attempt, [Candidate(name) for name in names], replaces)
        batch = ClaimBatch("r", "p", "u", SMALL_REQUEST, [intent], self.epoch, self.ranked_at, 60_000, fresh=True)
        prepared_batch = self.alternates.prepare(ctxt or context.new(), scheduling_request or request(), batch)
        return prepared_batch.answer.prepared[0]

    def touch(self, host, **changes):
        version, _ = self.store.get_state("service", host)
        self.store.put_state("service", host, version, changes)


def test_first_fitting_alternate_replaces_the_old_attempt():
    partition = AlternatesPartition()
    assert partition.prepare("a").host == "a"
    again = partition.prepare("b", "c", attempt=2, replaces=1)
    assert (again.answer, again.host) == (Answer.PREPARED, "b")
    assert [claim.host for claim in partition.store.claims()[0]] == ["b"]
    assert partition.replica_view.reached == []


def test_changed_candidate_that_is_still_eligible_is_claimed_on_retry():
    partition = AlternatesPartition()
    partition.touch("b", enabled=False)
    partition.touch("b", enabled=True)
    assert partition.prepare("b").host == "b"
    assert len(partition.replica_view.reached) == 1


def test_candidate_that_became_ineligible_is_refused():
    partition = AlternatesPartition()
    partition.touch("b", enabled=False)
    result = partition.prepare("b")
    assert (result.answer, result.verdicts) == (Answer.REFUSED, ())
    assert partition.store.claims()[0] == []


def test_full_candidates_are_not_retried():
    partition = AlternatesPartition()
    for number in range(4):
        assert partition.prepare("a", consumer=f"vm{number}").host == "a"
    result = partition.prepare("a", consumer="late")
    assert (result.answer, result.verdicts) == (Answer.REFUSED, (Verdict.CONCURRENT,))
    assert partition.replica_view.reached == []


def test_changed_candidate_is_skipped_when_another_fits():
    partition = AlternatesPartition()
    partition.touch("b", enabled=False)
    assert partition.prepare("b", "c").host == "c"
    assert partition.replica_view.reached == []


def test_audited_candidate_is_claimed_after_a_new_epoch():
    partition = AlternatesPartition()
    epoch = partition.store.begin_epoch()
    partition.store.audit("c", epoch, [], 0)
    assert partition.prepare("b", "c").host == "c"


def test_candidate_without_an_audit_in_the_new_epoch_is_closed():
    partition = AlternatesPartition()
    partition.touch("b", enabled=False)
    partition.store.begin_epoch()
    result = partition.prepare("b", "c")
    assert (result.answer, result.verdicts) == (Answer.REFUSED, (Verdict.CLOSED,))


FULL, CLOSED, FITS = Verdict.FULL, Verdict.CLOSED, Verdict.FITS


@pytest.mark.parametrize(
    ("verdicts", "current", "answer"),
    [
        ((FULL, CLOSED), True, "closed"),
        ((CLOSED, CLOSED), True, "closed"),
        ((), False, "closed"),  # sent in an old epoch
        ((FULL, FULL), True, "refused"),
        ((CLOSED, FITS), True, "possible"),  # refused because another instance of the batch failed
        ((), True, "refused"),
    ],
)
def test_refusal_that_an_audit_may_change_is_answered_closed(verdicts: tuple[Verdict, ...], current: bool, answer: str):
    result = IntentResult("vm", 2, Answer.REFUSED, verdicts=verdicts)
    request = PreparedBatch(
        [Intent("vm", 2, [Candidate("a"), Candidate("b")])], BatchAnswer(False, current, 1, 1, [result], {})
    )
    prepare_answers = encode.prepare_answers(request)
    assert prepare_answers.answers == [answer]
    assert prepare_answers.reasons[0]


def test_unknown_candidate_is_refused():
    partition = AlternatesPartition()
    partition.store.begin_epoch()
    assert partition.prepare("nowhere").answer is Answer.REFUSED


def test_no_retry_after_the_deadline():
    partition = AlternatesPartition()
    partition.touch("b", enabled=False)
    ctxt = context.new(deadline=1.0)
    with pytest.raises(errors.DeadlinePassed):
        partition.prepare("b", ctxt=ctxt)


@pytest.mark.parametrize("count", [1, 100, 101, MAX_INSTANCES])
def test_alternates_of_all_instances_are_claimed_or_none(count):
    partition = AlternatesPartition()
    hosts.join(partition.store, {"big": node({"VCPU": 2 * count, "MEMORY_MB": 1 << 23, "DISK_GB": 1 << 20})})
    intents = [Intent(f"vm{number}", 1, [Candidate("big")]) for number in range(count + 1)]
    position = partition.store.state.position
    batch = ClaimBatch("r", "p", "u", SMALL_REQUEST, intents[:count], partition.epoch, position, ttl_ms=60_000)
    if count < MAX_INSTANCES:
        refused = partition.alternates.prepare(context.new(), request(), replace(batch, intents=intents))
        assert not refused.answer.accepted
    prepared_batch = partition.alternates.prepare(context.new(), request(), batch)
    assert prepared_batch.answer.accepted and len(prepared_batch.answer.prepared) == count
    again = partition.alternates.prepare(context.new(), request(), batch)
    assert [result.host for result in again.answer.prepared] == ["big"] * count


def test_empty_batch_is_refused():
    partition = AlternatesPartition()
    batch = ClaimBatch("r", "p", "u", SMALL_REQUEST, [], partition.epoch, partition.ranked_at, ttl_ms=60_000)
    with pytest.raises(errors.InvalidRequest):
        partition.alternates.prepare(context.new(), request(), batch)


GPU = "CUSTOM_GPU"


def make_claimer(store, replica_view, allowed=lambda policy, request: request):
    """Return an alternate claimer that rewrites requests with ``allowed``, on the table of ``replica_view``."""
    return AlternateClaimer(CurrentPolicy(FILTER_POLICY), store, replica_view, catch_up_s=1.0, rewrite=allowed)


def claim_alternates(store, alternates, request, *names, attempt=1):
    intent = Intent("vm", attempt, [Candidate(name) for name in names], attempt - 1 or None)
    at = store.state
    batch = ClaimBatch("r", "p", "u", request.resources, [intent], at.epoch, at.position, ttl_ms=60_000)
    alternates.prepare(context.new(), request, batch)
    return {name: dict(amounts) for claim in store.claims()[0] for name, amounts in claim.allocations.items()}


def test_alternates_use_the_rewritten_request_for_tree_allocations():
    """A project limited to its aggregates gets nothing from another project's pool."""
    pool = node({"DISK_GB": 100}, [SHARING_TRAIT]) | {"kind": "volume"}
    store = MemoryStore("p", namespaces=("aggregate",))
    hosts.join(store, {"a": node({"VCPU": 8}), "pool1": pool, "pool2": pool})
    for name, members in (("rack", ["a", "pool1", "pool2"]), ("mine", ["a", "pool2"])):
        store.put_state("aggregate", name, 0, {"name": name, "hosts": members, "metadata": {}})
    replica_view = FollowingReplicaView(store, {"aggregate": frozenset({"hosts", "metadata"})})
    alternates = make_claimer(
        store, replica_view, lambda policy, scheduling_request: replace(scheduling_request, member_of=(("mine",),))
    )
    allocations = claim_alternates(store, alternates, request({"VCPU": 1, "DISK_GB": 10}), "a")
    assert allocations == {"a": {"VCPU": 1}, "pool2": {"DISK_GB": 10}}


def test_replaced_attempt_frees_its_share_of_a_pool():
    pool = node({"DISK_GB": 15}, [SHARING_TRAIT]) | {"kind": "volume"}
    store = MemoryStore("p", namespaces=("aggregate",))
    hosts.join(store, {"a": node({"VCPU": 8}), "b": node({"VCPU": 8}), "pool": pool})
    store.put_state("aggregate", "rack", 0, {"name": "rack", "hosts": ["a", "b", "pool"], "metadata": {}})
    replica_view = FollowingReplicaView(store, {"aggregate": frozenset({"hosts", "metadata"})})
    scheduling_request = request({"VCPU": 1}, groups=(RequestGroup("_volume0", {"DISK_GB": 10}),))
    claim_alternates(store, make_claimer(store, replica_view), scheduling_request, "a")
    replica_view.reach(store.state.position, 1)
    allocations = claim_alternates(store, make_claimer(store, replica_view), scheduling_request, "b", attempt=2)
    assert allocations == {"b": {"VCPU": 1}, "pool": {"DISK_GB": 10}}


def test_tree_that_this_worker_has_not_read_yet_is_retried():
    store = MemoryStore("p")
    hosts.join(store, {"a": node(), "b": node(), "b/gpu0": node({GPU: 1}) | {"parent": "b"}})
    replica_view = FollowingReplicaView(store)
    hosts.join(store, {"a": node(), "a/gpu0": node({GPU: 1}) | {"parent": "a"}}, sequence=2)
    scheduling_request = request({"VCPU": 1}, groups=(RequestGroup("_0", {GPU: 1}),))
    allocations = claim_alternates(store, make_claimer(store, replica_view), scheduling_request, "a")
    assert allocations == {"a": {"VCPU": 1}, "a/gpu0": {GPU: 1}}
    assert len(replica_view.reached) == 1
