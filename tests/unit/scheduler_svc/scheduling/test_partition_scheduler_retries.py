# SPDX-License-Identifier: Apache-2.0
"""Lost races: the next candidate, the next try, and the limits of both."""

import threading
from collections import Counter
from dataclasses import replace

import pytest
from prometheus_client import REGISTRY

from rpcapi import context, errors
from rpcapi.resources.claims import Verdict
from scheduler_svc.scheduling.calls import SelectionCall
from tests.support.scheduler.hosts import node, request
from tests.support.scheduler.schedulers import HostPartition, RefusingStore, select, selection_call


def test_lost_race_claims_the_next_candidate_in_the_same_try():
    partition = HostPartition({"a": node(), "b": node({"VCPU": 4, "MEMORY_MB": 8192, "DISK_GB": 100})})
    slow, replica_view = partition.scheduler()
    fast, _ = partition.scheduler()
    select(fast, selection_call(4, first=10, scheduling_request=request(force_hosts=("a",))))
    assert select(slow, selection_call()).prepared[0].host == "b"
    assert replica_view.reached == []


def test_losing_all_candidates_ranks_again_on_a_table_at_least_as_fresh():
    nodes = {f"h{number:02}": node({"VCPU": 2 if number < 16 else 1}) for number in range(20)}
    best = tuple(nodes)[:16]
    partition = HostPartition(nodes)
    slow, replica_view = partition.scheduler()
    fast, _ = partition.scheduler()
    select(fast, selection_call(32, first=10, scheduling_request=request({"VCPU": 1}, force_hosts=best)))
    selection = select(slow, selection_call(scheduling_request=request({"VCPU": 1})))
    assert selection.prepared[0].host not in best
    assert len(replica_view.reached) == 1
    assert selection.position >= replica_view.reached[0]


def test_first_choice_is_counted_once_for_a_repeated_call():
    partition = HostPartition({"a": node(), "b": node({"VCPU": 3, "MEMORY_MB": 6144, "DISK_GB": 100})})
    slow, _ = partition.scheduler()
    fast, _ = partition.scheduler()

    def first_choices():
        return REGISTRY.get_sample_value("gantt_scheduler_first_choices_total")

    before = first_choices()
    for _ in range(2):
        select(fast, selection_call(4, first=10, scheduling_request=request(force_hosts=("a",))))
        assert first_choices() == before + 4
    assert select(slow, selection_call()).prepared[0].host == "b"  # its second choice
    assert first_choices() == before + 4


@pytest.mark.parametrize(
    ("verdict", "reason"),
    [
        (Verdict.CONCURRENT, "4 claimed by others meanwhile"),
        (Verdict.STALE, "4 changed meanwhile"),
        (Verdict.CLOSED, "4 not audited in this epoch"),
    ],
)
def test_tries_are_bounded_when_the_store_always_refuses(verdict, reason):
    refusing = RefusingStore(verdict)
    scheduler, _ = HostPartition().scheduler(refusing, max_tries=3)
    with pytest.raises(errors.NoValidHost, match=reason):
        select(scheduler, selection_call())
    assert [batch.record["retry"] for batch in refusing.batches] == [0, 1, 2]
    assert len({batch.record["seed"] for batch in refusing.batches}) == 3


@pytest.mark.parametrize(
    ("catch_up_s", "remaining_s", "max_wait_s"), [(2.0, None, 2.0), (2.0, 60.0, 2.0), (900.0, 60.0, 60.0)]
)
def test_catch_up_ends_at_its_limit_or_the_deadline(catch_up_s, remaining_s, max_wait_s):
    scheduler, replica_view = HostPartition().scheduler(RefusingStore(), max_tries=2, catch_up_s=catch_up_s)
    ctxt = context.new() if remaining_s is None else context.new().with_timeout(remaining_s)
    with pytest.raises(errors.NoValidHost):
        select(scheduler, selection_call(ctxt=ctxt))
    assert len(replica_view.waited) == 1  # not after the last try
    assert max_wait_s / 2 < max(replica_view.waited) <= max_wait_s


def test_unread_epoch_raises_not_ready():
    scheduler, _ = HostPartition().scheduler(RefusingStore(current=False), max_tries=2)
    with pytest.raises(errors.NotReady, match="new epoch"):
        select(scheduler, selection_call())


def test_racing_schedulers_never_overcommit():
    partition = HostPartition({f"h{number}": node() for number in range(25)})  # capacity for 100
    refused = Counter()

    def work(name):
        scheduler, _ = partition.scheduler(max_tries=10)
        for number in range(40):
            call = SelectionCall(context.new("p", "u"), replace(request(), id=f"{name}-{number}"), [f"{name}-{number}"])
            try:
                select(scheduler, call)
            except errors.NoValidHost:
                refused[name] += 1

    threads = [threading.Thread(target=work, args=(f"w{number}",)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    verification = partition.store.verify()
    assert (verification.problems, verification.excess) == ([], [])
    assert len(partition.live()) == 100
    assert sum(refused.values()) == 60
