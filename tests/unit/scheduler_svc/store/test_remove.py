# SPDX-License-Identifier: Apache-2.0
"""Removal of a host from its partition."""

import pytest

from rpcapi import errors
from rpcapi.resources.claims import Answer, Verdict
from scheduler_svc.core.records import ClaimRef
from tests.unit.scheduler_svc.store.world import ROOMY, SHORT_MS, World, node_stats


def test_empty_host_is_removed_and_logged(world: World) -> None:
    world.add_host("h1", "h1/n1", "h1/n2")
    world.add_host("h2")
    position = world.store.snapshot().position
    world.store.remove("h1")
    entries = [(entry.kind, entry.payload) for entry in world.store.follow(position, 0) or ()]
    assert entries == [("gone", ["h1/n1", "h1/n2"]), ("service", {"h1": None})]
    now = world.store.snapshot()
    assert (list(now.providers), list(now.services), list(now.alive), list(now.opened)) == (["h2"],) * 4
    for namespace, name in (("compute", "h1/n1"), ("service", "h1")):
        with pytest.raises(errors.UnknownHost):
            world.store.get_state(namespace, name)
    world.check()


def test_remove_of_an_unknown_host_does_nothing(world: World) -> None:
    position = world.store.snapshot().position
    world.store.remove("h1")
    assert world.store.snapshot().position == position


def test_host_with_claims_is_not_removed(world: World) -> None:
    world.add_host("h1", "h1/n1")
    ref = world.hold("c1", "h1/n1")
    world.prepare("c2", "h1/n1")
    before = world.store.snapshot()
    with pytest.raises(errors.HostInUse, match="2 live claims"):
        world.store.remove("h1")
    assert world.store.snapshot() == before
    world.store.abort([ClaimRef("c2", 1)])
    with pytest.raises(errors.HostInUse, match="1 live claim"):
        world.store.remove("h1")
    world.store.release("h1", [ref])
    world.store.remove("h1")
    assert not world.store.snapshot().providers


def test_host_with_a_common_name_prefix_does_not_block_removal(world: World) -> None:
    world.add_host("h1")
    world.add_host("h10")
    world.hold("c1", "h10")
    world.store.remove("h1")
    assert list(world.store.snapshot().providers) == ["h10"]


def test_expired_claim_does_not_block_removal(world: World) -> None:
    world.add_host("h1")
    world.pass_deadline(world.prepare("c1", "h1", ttl_ms=SHORT_MS))
    world.store.remove("h1")
    assert world.store.confirm("h1", [ClaimRef("c1", 1)])[0].answer is Answer.EXPIRED
    world.check()


def test_awaited_host_is_not_removed_until_fenced(world: World) -> None:
    world.add_host("h1")
    world.new_epoch()
    with pytest.raises(errors.Conflict, match="fence"):
        world.store.remove("h1")
    world.store.fence("h1")
    world.store.remove("h1")
    assert not world.store.snapshot().providers


def test_removed_host_may_report_again(world: World) -> None:
    world.add_host("h1")
    world.store.remove("h1")
    assert world.prepare("c1", "h1").verdicts == (Verdict.UNKNOWN,)
    world.add_host("h1")
    assert world.prepare("c1", "h1", attempt=2).host == "h1"


def test_removed_host_leaves_no_state_behind(world: World) -> None:
    world.add_host("h1", "h1/n1")
    before = world.store.get_state("service", "h1")[1]["last_report_ms"]
    world.store.remove("h1")
    position = world.store.snapshot().position
    world.wait_until(before + SHORT_MS)
    world.store.reap(dead_after_ms=1, tombstone_ms=60_000)
    world.store.remove("h1")
    assert world.store.snapshot().position == position


def test_delta_after_removal_needs_a_full_report(world: World) -> None:
    first = {"incarnation": 7, "sequence": 1}
    world.report("h1", {"h1": node_stats(ROOMY)}, **first)
    world.store.remove("h1")
    assert world.report("h1", {}, incarnation=7, sequence=2, base=1, full=False).need_full
    assert world.report("h1", {"h1": node_stats(ROOMY)}, **first).need_full is False
    assert list(world.store.snapshot().providers) == ["h1"]
