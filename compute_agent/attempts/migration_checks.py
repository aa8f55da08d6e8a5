# SPDX-License-Identifier: Apache-2.0
"""Read-only checks before a live migration and progress of copies; callable from any thread."""

from collections.abc import Mapping, Sequence
from typing import Any

from compute_agent.attempt import Attempt, Stage
from compute_agent.attempts.guest_allocations import GuestManager
from compute_agent.resources.nodes import Node
from rpcapi import objects

# Resource kinds whose assignments are part of the guest's state and cannot be copied to another host.
DEVICE_KINDS = ("pci", "device")


def check_source(guest_manager: GuestManager, instances: Sequence[str]) -> objects.MigrationChecks:
    """Return each instance's node facts, and why its guest cannot be copied ("" if it can)."""
    live = {attempt.uuid: attempt for attempt in guest_manager.journal.all() if attempt.live}
    attempts = [live.get(instance) for instance in instances]
    return objects.MigrationChecks.of(
        instances=list(instances),
        facts=[
            {} if attempt is None else _facts(guest_manager, guest_manager.tracker.node(attempt.name))
            for attempt in attempts
        ],
        reasons=[
            _source_reason(guest_manager, instance, attempt)
            for instance, attempt in zip(instances, attempts, strict=True)
        ],
    )


def check_destination(guest_manager: GuestManager, checks: objects.MigrationChecks) -> objects.MigrationChecks:
    """Return the facts of each node in ``names``, and why it cannot receive the guest ("" if it can)."""
    nodes = [guest_manager.tracker.node(name) for name in checks.names]
    facts = [_facts(guest_manager, node) for node in nodes]
    rows = zip(checks.instances, nodes, checks.facts, facts, strict=True)
    return objects.MigrationChecks.of(
        instances=checks.instances,
        facts=facts,
        reasons=[_destination_reason(guest_manager, *row) for row in rows],
    )


def list_copies(guest_manager: GuestManager, migrations: Sequence[str]) -> objects.CopyPage:
    requested = frozenset(migrations)
    attempts = [attempt for attempt in guest_manager.journal.all() if attempt.migration in requested and attempt.copy]
    now_ms = guest_manager.hypervisor.copy_clock()
    copies = [guest_manager.hypervisor.copies.get(attempt.ref) for attempt in attempts]
    states = [attempt.copy for attempt in attempts if attempt.copy is not None]
    return objects.CopyPage.of(
        migrations=[attempt.migration for attempt in attempts],
        numbers=[state.number for state in states],
        phases=[state.phase for state in states],
        reasons=[state.reason for state in states],
        total_mb=[copy.total_mb if copy else 0 for copy in copies],
        remaining_mb=[round(copy.remaining_mb(now_ms)) if copy else 0 for copy in copies],
        copied_mb=[round(copy.copied_mb(now_ms)) if copy else 0 for copy in copies],
    )


def _source_reason(guest_manager: GuestManager, instance: str, attempt: Attempt | None) -> str:
    if attempt is None:
        return f"its guest is not on host {guest_manager.host}"
    if attempt.stage is not Stage.SPAWNED:
        return f"its guest is not running: it is {attempt.stage}"
    devices = [kind for kind in DEVICE_KINDS if attempt.assignments.get(kind)]
    if devices:
        return f"it has devices ({', '.join(devices)}) that cannot be copied"
    if guest_manager.hypervisor.profile().migration_check_fails(guest_manager.host, instance):
        return "simulated failure of the check at the source"
    return ""


def _destination_reason(
    guest_manager: GuestManager,
    instance: str,
    node: Node | None,
    source: Mapping[str, Any],
    facts: Mapping[str, Any],
) -> str:
    if node is None:
        return f"host {guest_manager.host} does not have that node"
    for name in ("architecture", "hypervisor_type"):
        if source.get(name) and facts.get(name) and source[name] != facts[name]:
            return f"its {name.replace('_', ' ')} is {facts[name]}, the source's is {source[name]}"
    if (facts.get("hypervisor_version") or 0) < (source.get("hypervisor_version") or 0):
        return f"its hypervisor version {facts['hypervisor_version']} is older than {source['hypervisor_version']}"
    if any(attempt.live and attempt.uuid == instance for attempt in guest_manager.journal.all()):
        return f"host {guest_manager.host} already has the instance"
    if guest_manager.hypervisor.profile().migration_check_fails(guest_manager.host, instance):
        return "simulated failure of the check at the destination"
    return ""


def _facts(guest_manager: GuestManager, node: Node | None) -> dict[str, Any]:
    facts = node.shape.facts if node else {}
    return {
        "architecture": facts.get("cpu_info", {}).get("arch", ""),
        "hypervisor_type": facts.get("hypervisor_type", ""),
        "hypervisor_version": facts.get("hypervisor_version", 0),
        "storage": guest_manager.hypervisor.profile().shared_storage,
    }
