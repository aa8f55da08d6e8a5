# SPDX-License-Identifier: Apache-2.0
"""Checks before a live migration, at both ends, and the progress of copies."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from compute_agent.attempts.guest_allocations import GuestManager
from compute_agent.attempts.migration_checks import check_destination, check_source, list_copies
from compute_agent.resources.nodes import Node
from compute_agent.simulator.profile import HostProfile
from rpcapi import objects
from rpcapi.objects.copy import START
from rpcapi.objects.guest import STOP
from tests.support.agent.rig import NODES, SHAPE, AgentRig

FACTS = {"cpu_info": {"arch": "x86_64"}, "hypervisor_type": "QEMU", "hypervisor_version": 8002001}
NODE = Node("alpha/node0", replace(SHAPE, facts=FACTS), "zone1")
ANSWER = {"architecture": "x86_64", "hypervisor_type": "QEMU", "hypervisor_version": 8002001, "storage": ""}


@pytest.fixture
def rig(tmp_path: Path) -> Iterator[AgentRig]:
    """An agent with the guest of instance a."""
    rig = AgentRig(tmp_path, HostProfile(boot_delay=1.0, copy_rate=100.0, dirty_rate=50.0))
    rig.nodes = (NODE, NODES[1])
    rig.serve()
    rig.build(rig.intent("a"))
    rig.queue.settle()
    yield rig
    rig.stop()


def manager(rig: AgentRig) -> GuestManager:
    assert rig.guest_manager is not None
    return rig.guest_manager


def source_reason(rig: AgentRig, instance: str = "a") -> str:
    return check_source(manager(rig), [instance]).reasons[0]


def destination_reason(rig: AgentRig, instance: str = "b", node: str = "alpha/node0", **source: Any) -> str:
    checks = objects.MigrationChecks.of(instances=[instance], names=[node], facts=[{**ANSWER, **source}])
    return check_destination(manager(rig), checks).reasons[0]


def test_source_answers_the_facts_of_its_node(rig: AgentRig) -> None:
    rig.profile = replace(rig.profile, shared_storage="nfs1")
    answer = check_source(manager(rig), ["a", "b"])
    assert answer.facts == [ANSWER | {"storage": "nfs1"}, {}]
    assert answer.reasons == ["", "its guest is not on host alpha"]


def test_source_may_be_copied_again(rig: AgentRig) -> None:
    rig.copy(START)
    rig.queue.run()
    assert source_reason(rig) == "", "a copy with a greater number takes its place"


def test_stopped_guest_cannot_be_migrated_live(rig: AgentRig) -> None:
    rig.change(("a", 1), STOP)
    rig.queue.settle()
    assert source_reason(rig) == "its guest is not running: it is stopped"


def test_devices_cannot_be_copied(rig: AgentRig) -> None:
    (attempt,) = manager(rig).journal.of_instance("a")
    manager(rig).journal.put([replace(attempt, assignments={"pci": {"units": ["0000:01:00.1"]}})])
    assert source_reason(rig) == "it has devices (pci) that cannot be copied"


def test_destination_like_the_source_accepts(rig: AgentRig) -> None:
    assert destination_reason(rig) == ""


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        ({"architecture": "aarch64"}, "its architecture is x86_64, the source's is aarch64"),
        ({"hypervisor_type": "Xen"}, "its hypervisor type is QEMU, the source's is Xen"),
        ({"hypervisor_version": 9000000}, "its hypervisor version 8002001 is older than 9000000"),
    ],
)
def test_destination_that_cannot_run_the_guest_is_refused(rig: AgentRig, source: dict[str, Any], reason: str) -> None:
    assert destination_reason(rig, **source) == reason


@pytest.mark.parametrize("source", [{"architecture": ""}, {"hypervisor_version": 1}, {"storage": "nfs1"}])
def test_unknown_facts_and_other_storage_are_no_obstacle(rig: AgentRig, source: dict[str, Any]) -> None:
    assert destination_reason(rig, **source) == ""


def test_host_that_has_the_instance_or_no_such_node_is_refused(rig: AgentRig) -> None:
    assert destination_reason(rig, "a") == "host alpha already has the instance"
    assert destination_reason(rig, node="alpha/node9") == "host alpha does not have that node"


def test_simulated_check_fails_at_both_ends(rig: AgentRig) -> None:
    rig.profile = replace(rig.profile, migration_check_failure_rate=1.0)
    assert source_reason(rig) == "simulated failure of the check at the source"
    assert destination_reason(rig) == "simulated failure of the check at the destination"


def test_progress_of_a_copy(rig: AgentRig) -> None:
    assert list_copies(manager(rig), ["m"]).migrations == []
    rig.copy(START)
    rig.queue.run()
    rig.clock.now += 10_000
    page = list_copies(manager(rig), ["m", "unknown"])
    assert (page.migrations, page.numbers, page.phases) == (["m"], [2], ["running"])
    assert (page.total_mb, page.remaining_mb, page.copied_mb) == ([1024], [524], [1000])
    rig.queue.settle()
    page = list_copies(manager(rig), ["m"])
    assert (page.phases, page.remaining_mb) == (["done"], [0])
