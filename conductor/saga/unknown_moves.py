# SPDX-License-Identifier: Apache-2.0
"""Moves and resizes that the record does not know, as after its store was restored: rebuilt from claims and agents."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NamedTuple

from conductor.admission import count_amounts
from conductor.resized_spec import larger_amounts
from conductor.saga.saga_pass import SagaPass
from conductor.saga.transitions import set_step
from conductor.store.migrations import MigrationKind, MigrationRecord, MigrationStatus
from conductor.store.records import InstanceRecord, InstanceStatus, SagaStep
from rpcapi import objects
from rpcapi.objects.guest import RUNNING, STOPPED
from rpcapi.resources import names

Claim = Mapping[str, Any]

LOST_RECORD = "the record of the migration was lost"


class AgentAttempt(NamedTuple):
    """An attempt by its agent's journal: the state of its guest, as in GuestPage, and its flavor."""

    state: str | None
    flavor: str | None


def rebuild_move(saga_pass: SagaPass, instance: InstanceRecord, source: Claim, destination: Claim) -> InstanceRecord:
    """Return the record with the move of which it has both ends.

    A destination that has a guest of its own goes on: the source is stopped, then the move waits for confirm or revert.
    A guest that was never started there is removed, and the source continues; so is one that was stopped there for a
    source that runs. Raises what ``read_attempt`` raises.
    """
    attempt = read_attempt(saga_pass, instance, destination)
    spec = resized_spec(saga_pass, instance, destination, attempt.flavor)
    flavor = instance.flavor or saga_pass.request.flavor
    migration = MigrationRecord(
        uuid=destination["migration"] or source["migration"],
        instance=instance.uuid,
        kind=MigrationKind.MIGRATION if spec is None else MigrationKind.RESIZE,
        source_host=source["host"],
        source_partition=instance.partition,
        source_attempt=source["attempt"],
        source_allocations=source["allocations"],
        destination_host=destination["host"],
        destination_attempt=destination["attempt"],
        spec=None if spec is None else spec.obj_to_primitive(),
        old_flavor=flavor,
        new_flavor=flavor if spec is None else spec.flavor,
        request_id=source["request_id"],
    )
    goes_on = attempt.state == RUNNING or (
        attempt.state == STOPPED and read_attempt(saga_pass, instance, source).state != RUNNING
    )
    if not goes_on:
        migration = replace(migration, status=MigrationStatus.REVERTING, reason=LOST_RECORD)
    moving = replace(
        instance,
        attempt=destination["attempt"],
        host=destination["host"],
        allocations=destination["allocations"],
        history=[],
        alternates=(),
        migration=migration,
        reason=None,
    )
    if spec is not None:
        former = instance.amounts or count_amounts(saga_pass.spec_of(instance))
        moving = replace(moving, amounts=larger_amounts(former, count_amounts(spec)))
    step = SagaStep.STOP_SOURCE if goes_on else SagaStep.TERMINATE
    return set_step(moving, step, status=InstanceStatus.RESIZE)


def read_attempt(saga_pass: SagaPass, instance: InstanceRecord, claim: Claim) -> AgentAttempt:
    """Return what the agent of a claim says of its attempt; raises GanttError, or one of NO_ANSWER_ERRORS."""
    clients = saga_pass.clients
    host = names.host_of(claim["host"])
    page = clients.call_agent(saga_pass.context(), host, clients.compute.list_owners, [instance.uuid])
    for number, state, owner in zip(page.attempts, page.states, page.owners, strict=True):
        if number == claim["attempt"]:
            return AgentAttempt(state, owner.get("flavor"))
    return AgentAttempt(None, None)


def has_other_amounts(saga_pass: SagaPass, instance: InstanceRecord, claim: Claim) -> bool:
    """Return whether a claim holds other amounts than the record requests, as after a forgotten resize."""
    requested = count_amounts(saga_pass.spec_of(instance))
    return count_amounts(objects.RequestSpec.of(resources=_total(claim))) != requested


def resized_spec(
    saga_pass: SagaPass, instance: InstanceRecord, claim: Claim, flavor: str | None
) -> objects.RequestSpec | None:
    """Return the request for what a claim holds, None if that is what the record requests."""
    if not has_other_amounts(saga_pass, instance, claim):
        return None
    spec = saga_pass.spec_of(instance)
    resized: objects.RequestSpec = spec.with_values(resources=_total(claim), groups={}, flavor=flavor)
    return resized


def _total(claim: Claim) -> dict[str, int]:
    total: Counter[str] = Counter()
    for amounts in claim["allocations"].values():
        total.update(amounts)
    return dict(total)
