# SPDX-License-Identifier: Apache-2.0
"""The list of what runs on a host."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from compute_agent.attempt import AttemptRef
from compute_agent.attempts.guest_list import list_guests, list_owners
from rpcapi.objects.guest import RUN, STOP
from tests.support.agent.rig import AgentKilled, AgentRig


@pytest.fixture
def rig(tmp_path: Path) -> Iterator[AgentRig]:
    rig = AgentRig(tmp_path)
    rig.serve()
    yield rig
    rig.stop()


def rows(rig: AgentRig, limit: int = 1000) -> list[tuple[str, int, str, str]]:
    assert rig.guest_manager is not None
    listed, marker = [], None
    while True:
        page = list_guests(rig.guest_manager, marker, limit)
        assert len(page.uuids) <= limit
        listed += zip(page.uuids, page.attempts, page.names, page.states, strict=True)
        marker = page.marker
        if marker is None:
            return listed


def test_guests_are_listed_with_their_nodes_in_pages(rig: AgentRig) -> None:
    rig.build(rig.intent("a"), rig.intent("b", node=1), rig.intent("c"))
    rig.queue.settle()
    expected = [(uuid, 1, f"alpha/node{int(uuid == 'b')}", "running") for uuid in "abc"]
    assert rows(rig) == expected
    assert rows(rig, limit=2) == rows(rig, limit=1) == expected


def test_attempt_without_a_confirmed_claim_is_not_listed(rig: AgentRig) -> None:
    rig.ledger.lose = ["confirm_claims"]
    rig.build(rig.intent("a"))
    rig.queue.run()
    assert rows(rig) == []


def test_owners_are_those_of_live_attempts_of_the_instances(rig: AgentRig) -> None:
    rig.build(rig.intent("a"), rig.intent("b", node=1), rig.intent("c"))
    rig.queue.settle()
    assert rig.guest_manager is not None
    page = list_owners(rig.guest_manager, ["b", "c", "unknown"])
    assert (page.uuids, page.attempts, page.names) == (["b", "c"], [1, 1], ["alpha/node1", "alpha/node0"])
    assert page.owners == [dict(rig.intent(uuid).owner) for uuid in "bc"]
    rig.ledger.lose = ["confirm_claims"]
    rig.build(rig.intent("d"))
    rig.queue.run()
    assert list_owners(rig.guest_manager, ["d"]).uuids == ["d"]
    rig.terminate(("a", 1))
    rig.queue.settle()
    assert list_owners(rig.guest_manager, ["a"]).uuids == []


def test_confirmed_attempt_without_a_guest_and_guest_without_an_attempt_differ(rig: AgentRig) -> None:
    rig.build(rig.intent("a"))
    rig.queue.settle()
    assert rig.guest_manager is not None
    rig.guest_manager.hypervisor.stop(AttemptRef("a", 1))
    rig.guest_manager.hypervisor.spawn(AttemptRef("b", 3), "alpha/node1")
    assert rows(rig) == [("a", 1, "alpha/node0", "confirmed"), ("b", 3, "alpha/node1", "unjournalled")]


def test_guest_that_is_off_is_stopped(rig: AgentRig) -> None:
    rig.build(rig.intent("a"), rig.intent("b"))
    rig.queue.settle()
    rig.change(("a", 1), STOP)
    rig.queue.settle()
    assert rig.guest_manager is not None
    for page in (list_guests(rig.guest_manager, None, 10), list_owners(rig.guest_manager, ["a", "b"])):
        assert sorted(zip(page.uuids, page.states, strict=True)) == [("a", "stopped"), ("b", "running")]


def test_guest_that_is_about_to_start_again_does_not_run_yet(rig: AgentRig) -> None:
    # A record that was lost is rebuilt from this: a source that only is to start has an older copy than a destination
    rig.build(rig.intent("a"))
    rig.queue.settle()
    rig.change(("a", 1), STOP)
    rig.queue.settle()
    assert rig.guest_manager is not None
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rig.guest_manager.hypervisor, "spawn", refuse_to_start)
        rig.change(("a", 1), RUN)
        with pytest.raises(AgentKilled):
            rig.queue.settle()
    assert rows(rig) == [("a", 1, "alpha/node0", "confirmed")]
    assert list_owners(rig.guest_manager, ["a"]).states == ["confirmed"]


def refuse_to_start(*_arguments: Any, **_values: Any) -> None:
    raise AgentKilled
