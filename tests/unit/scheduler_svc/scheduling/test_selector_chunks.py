# SPDX-License-Identifier: Apache-2.0
"""Requests with more instances than one claim script takes: chunks and aborts."""

import time
from collections import Counter

import pytest

from rpcapi import context, errors
from scheduler_svc.scheduling.claimer import StoreClaimer
from tests.unit.scheduler_svc.fakes.hosts import node
from tests.unit.scheduler_svc.fakes.selectors import FailingClaimer, HostPartition, select, selection_call


def test_repeated_large_request_returns_claims_made_before_an_outage():
    partition = HostPartition({f"h{number:02}": node() for number in range(60)})
    selector, _ = partition.selector(FailingClaimer(partition.store))
    with pytest.raises(errors.StoreUnavailable, match="gone"):
        select(selector, selection_call(150))
    hosts_by_consumer = {claim.consumer: claim.host for claim in partition.live()}
    assert len(hosts_by_consumer) == 100
    selector, _ = partition.selector()
    hosts = [result.host for result in select(selector, selection_call(150)).prepared]
    assert hosts[:100] == [hosts_by_consumer[f"vm-{number}"] for number in range(100)]


def test_large_request_is_refused_although_its_claims_cannot_be_aborted():
    partition = HostPartition({f"h{number:02}": node() for number in range(30)})
    claimer = FailingClaimer(partition.store)
    claimer.prepared = -10
    selector, _ = partition.selector(claimer)
    with pytest.raises(errors.NoValidHost):
        select(selector, selection_call(121))
    assert {claim.state for claim in partition.live()} == {"prepared"}  # they expire at their deadline


def test_large_request_past_its_deadline_half_way_is_finished():
    partition = HostPartition({f"h{number:02}": node() for number in range(60)})
    ctxt = context.new(deadline=time.time() + 60)

    class Slow(StoreClaimer):
        def prepare(self, batch):
            ctxt.deadline = time.time() - 1
            return super().prepare(batch)

    selector, _ = partition.selector(Slow(partition.store))
    assert len(select(selector, selection_call(150), ctxt).prepared) == 150


def test_large_request_is_claimed_in_chunks():
    partition = HostPartition({f"h{number:02}": node() for number in range(60)})
    selector, _ = partition.selector()
    result = select(selector, selection_call(230))
    assert len(result.prepared) == len(partition.live()) == 230
    assert max(Counter(claim.host for claim in partition.live()).values()) == 4


def test_large_request_that_does_not_fit_leaves_no_claims():
    partition = HostPartition({f"h{number:02}": node() for number in range(30)})
    selector, _ = partition.selector()
    with pytest.raises(errors.NoValidHost):
        select(selector, selection_call(121))
    assert partition.live() == []
    assert partition.store.verify().problems == []


def test_claims_of_an_earlier_call_survive_a_later_refusal():
    partition = HostPartition({f"h{number:02}": node() for number in range(30)})
    selector, replica_view = partition.selector()
    select(selector, selection_call(100))
    replica_view.reach(partition.store.snapshot().position, 1)
    with pytest.raises(errors.NoValidHost):
        select(selector, selection_call(121))
    assert len(partition.live()) == 100
