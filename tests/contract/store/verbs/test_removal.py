# SPDX-License-Identifier: Apache-2.0
"""Removal of a host from its partition."""

import pytest

from rpcapi import errors
from rpcapi.resources.claims import Answer, Verdict
from scheduler_svc.core.records import ClaimRef
from tests.support.store.store_partition import ROOMY, SHORT_MS, StorePartition, node_stats, running


def test_empty_host_is_removed_and_logged(partition: StorePartition) -> None:
    partition.add_host("h1", "h1/n1", "h1/n2")
    partition.add_host("h2")
    position = partition.store.snapshot().position
    partition.store.remove("h1")
    entries = [(entry.kind, entry.payload) for entry in partition.store.follow(position, 0) or ()]
    assert entries == [("gone", ["h1/n1", "h1/n2"]), ("service", {"h1": None})]
    now = partition.store.snapshot()
    assert (list(now.providers), list(now.services), list(now.alive), list(now.opened)) == (["h2"],) * 4
    for namespace, name in (("compute", "h1/n1"), ("service", "h1")):
        with pytest.raises(errors.UnknownHost):
            partition.store.get_state(namespace, name)
    partition.check()


def test_remove_of_an_unknown_host_does_nothing(partition: StorePartition) -> None:
    position = partition.store.snapshot().position
    partition.store.remove("h1")
    assert partition.store.snapshot().position == position


def test_host_with_claims_is_not_removed(partition: StorePartition) -> None:
    partition.add_host("h1", "h1/n1")
    ref = partition.hold("c1", "h1/n1")
    partition.prepare("c2", "h1/n1")
    before = partition.store.snapshot()
    with pytest.raises(errors.HostInUse, match="2 live claims"):
        partition.store.remove("h1")
    assert partition.store.snapshot() == before
    partition.store.abort([ClaimRef("c2", 1)])
    with pytest.raises(errors.HostInUse, match="1 live claim"):
        partition.store.remove("h1")
    partition.store.release("h1", [ref])
    partition.store.remove("h1")
    assert not partition.store.snapshot().providers


def test_host_with_a_common_name_prefix_does_not_block_removal(partition: StorePartition) -> None:
    partition.add_host("h1")
    partition.add_host("h10")
    partition.hold("c1", "h10")
    partition.store.remove("h1")
    assert list(partition.store.snapshot().providers) == ["h10"]


def test_expired_claim_does_not_block_removal(partition: StorePartition) -> None:
    partition.add_host("h1")
    partition.pass_deadline(partition.prepare("c1", "h1", ttl_ms=SHORT_MS))
    partition.store.remove("h1")
    assert partition.store.confirm("h1", [ClaimRef("c1", 1)])[0].answer is Answer.EXPIRED
    partition.check()


def test_awaited_host_is_not_removed_until_fenced(partition: StorePartition) -> None:
    partition.add_host("h1")
    partition.new_epoch()
    with pytest.raises(errors.Conflict, match="fence"):
        partition.store.remove("h1")
    partition.fence("h1")
    partition.store.remove("h1")
    assert not partition.store.snapshot().providers


def test_awaited_host_that_is_lost_is_fenced_and_removed(partition: StorePartition) -> None:
    # Given a host that died, on which the store has forgotten a claim
    partition.add_host("h1", "h1/n1")
    partition.add_host("h2")
    mark = partition.mark()
    ref = partition.hold("c1", "h1/n1")
    epoch = partition.forget_since(mark)
    with pytest.raises(errors.Conflict, match="it is up"):
        partition.store.remove("h1", lost=True)
    partition.wait_until(partition.time() + SHORT_MS)
    partition.store.reap(dead_after_ms=1, tombstone_ms=60_000)
    partition.store.audit("h2", epoch, [], 0)
    assert partition.store.abort([ref])[0].answer is Answer.CLOSED
    # When it is removed, then nobody waits for it
    position = partition.store.snapshot().position
    partition.store.remove("h1", lost=True)
    entries = [(entry.kind, entry.payload) for entry in partition.store.follow(position, 0) or ()]
    assert entries == [("gone", ["h1/n1"]), ("opened", {"h1": 0}), ("service", {"h1": None})]
    assert list(partition.store.verify().awaited) == []
    assert partition.prepare("c1", "h2", fresh=False).host == "h2"
    partition.store.confirm("h2", [ref])
    # When it returns after all, then its copy stops: the other one was served after the removal
    partition.report("h1", {"h1/n1": node_stats(ROOMY)})
    answers = partition.store.audit("h1", epoch, [running(ref, "h1/n1")], 0).answers
    assert [result.answer for result in answers] == [Answer.FENCED]
    assert partition.store.confirm("h2", [ref])[0].answer is Answer.CONFIRMED
    partition.check()


def test_lost_host_of_which_only_the_name_is_known_is_removed(partition: StorePartition) -> None:
    partition.store.check_identity()
    epoch = partition.new_collecting_epoch()
    partition.store.name_hosts(epoch, ["h1"], complete=True)
    partition.store.remove("h1", lost=True)
    assert list(partition.store.verify().awaited) == []
    partition.store.remove("h1", lost=True)
    assert not partition.store.snapshot().opened


def test_lost_host_with_claims_is_not_removed(partition: StorePartition) -> None:
    partition.add_host("h1")
    partition.hold("c1", "h1")
    partition.new_epoch()
    partition.wait_until(partition.time() + SHORT_MS)
    partition.store.reap(dead_after_ms=1, tombstone_ms=60_000)
    with pytest.raises(errors.HostInUse, match="1 live claim"):
        partition.store.remove("h1", lost=True)
    assert list(partition.store.verify().awaited) == ["h1"]


def test_removed_host_may_report_again(partition: StorePartition) -> None:
    partition.add_host("h1")
    partition.store.remove("h1")
    assert partition.prepare("c1", "h1").verdicts == (Verdict.UNKNOWN,)
    partition.add_host("h1")
    assert partition.prepare("c1", "h1", attempt=2).host == "h1"


def test_removed_host_leaves_no_state_behind(partition: StorePartition) -> None:
    partition.add_host("h1", "h1/n1")
    before = partition.store.get_state("service", "h1")[1]["last_report_ms"]
    partition.store.remove("h1")
    position = partition.store.snapshot().position
    partition.wait_until(before + SHORT_MS)
    partition.store.reap(dead_after_ms=1, tombstone_ms=60_000)
    partition.store.remove("h1")
    assert partition.store.snapshot().position == position


def test_report_after_removal_needs_a_registration(partition: StorePartition) -> None:
    first = partition.report("h1", {"h1": node_stats(ROOMY)}, sequence=1)
    partition.store.remove("h1")
    delta = {"incarnation": first.incarnation, "sequence": 2, "base": 1, "full": False}
    assert partition.report("h1", {}, **delta).superseded
    again = partition.report("h1", {"h1": node_stats(ROOMY)}, sequence=3)
    assert again.incarnation > first.incarnation
    assert list(partition.store.snapshot().providers) == ["h1"]
