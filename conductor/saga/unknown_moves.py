# SPDX-License-Identifier: Apache-2.0
"""Moves and resizes that a record lacks, as after a restore: rebuilt from claims and agents."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NamedTuple

from conductor.admission import count_amounts, has_amounts, total_amounts
from conductor.resized_spec import larger_amounts
from conductor.saga.claims import ENDED_ANSWERS
from conductor.saga.step_context import StepContext
from conductor.saga.transitions import building_status, set_step
from conductor.store.migrations import MigrationRecord
from conductor.store.records import InstanceRecord, SagaStep
from rpcapi import objects
from rpcapi.objects.guest import STOP
from rpcapi.resources import names
from rpcapi.resources.claims import MIGRATION_ATTEMPT, ClaimRole, ClaimState
from rpcapi.resources.statuses import GuestState, MigrationKind, MigrationStatus

Claim = Mapping[str, Any]

LOST_RECORD = "the migration's record was lost"


class AgentAttempt(NamedTuple):
    """Attempt in its agent's journal.

    ``state`` is as in GuestPage, ``transition`` and ``migration`` as in BuildResult.
    """

    state: str | None = None
    flavor: str | None = None
    transition: int = 0
    migration: str = ""


def rebuild_move(
    context: StepContext, instance: InstanceRecord, source: Claim, destination: Claim, partition: str | None
) -> InstanceRecord:
    """Rebuild a move from the claims at both ends; the destination is in ``partition``.

    The move continues if the destination runs or is about to start the guest, or is stopped while the source does not
    run. Then the source stops, and the move waits for confirm or revert. Otherwise the destination ends. Raises the
    errors of ``read_attempt``.
    """
    instance = with_amounts_of(context, instance, source)
    attempt = read_attempt(context, instance, destination)
    source_attempt = read_attempt(context, instance, source)
    uuid = destination["migration"] or source["migration"]
    ends = ((destination, attempt, partition), (source, source_attempt, instance.partition))
    for claim, end, place in ends:
        if end.migration not in ("", uuid):
            return _end_earlier_move_on_host(context, instance, claim, end, place or context.clients.partition)
    goes_on = attempt.state in (GuestState.RUNNING, GuestState.CONFIRMED) or (
        attempt.state == GuestState.STOPPED and source_attempt.state != GuestState.RUNNING
    )
    spec = resized_spec(context, instance, destination)
    flavor = instance.flavor or context.request.flavor
    migration = MigrationRecord(
        uuid=uuid,
        instance=instance.uuid,
        kind=_kind_of(attempt, spec),
        source_host=source["host"],
        source_partition=instance.partition,
        source_attempt=source["attempt"],
        source_allocations=source["allocations"],
        destination_host=destination["host"],
        destination_attempt=destination["attempt"],
        spec=None if spec is None else spec.with_values(flavor=attempt.flavor).obj_to_primitive(),
        old_flavor=flavor,
        new_flavor=flavor if spec is None else attempt.flavor,
        was_stopped=instance.was_stopped,
        request_id=source["request_id"],
    )
    if not goes_on:
        migration = replace(migration, status=MigrationStatus.REVERTING, reason=LOST_RECORD)
    moving = replace(
        instance,
        attempt=destination["attempt"],
        last_attempt=max(instance.last_attempt, attempt.transition),
        host=destination["host"],
        allocations=destination["allocations"],
        partition=partition,
        history=[],
        alternates=(),
        migration=migration,
        is_shelved=False,  # a moving instance has run since it was shelved
        was_stopped=False,
        reason=None,
    )
    if spec is not None:
        former = instance.amounts or count_amounts(context.spec_of(instance))
        moving = replace(moving, amounts=larger_amounts(former, count_amounts(spec)))
    # A host ends no claim that it has not confirmed.
    ending = SagaStep.ABORT if destination["state"] == ClaimState.PREPARED else SagaStep.TERMINATE
    return set_step(moving, SagaStep.STOP_SOURCE if goes_on else ending, status=building_status(moving))


def _end_earlier_move_on_host(
    context: StepContext, instance: InstanceRecord, claim: Claim, attempt: AgentAttempt, partition: str
) -> InstanceRecord:
    """Tell a host that its guest's earlier move is over; the guest, stopped for it, stays off.

    Both live claims belong to the later move. Retries later if the partition may have lost a claim of the earlier move.
    """
    refs = objects.ClaimRefs.of(consumers=[attempt.migration], attempts=[MIGRATION_ATTEMPT])
    (answer,) = context.clients.claims_of(partition).find_claims(context.new_ctxt(), refs).answers
    if answer not in ENDED_ANSWERS:
        return context.retry_later(instance, f"its guest on {claim['host']} is off for migration {attempt.migration}")
    freed = replace(instance, last_attempt=max(instance.last_attempt, attempt.transition) + 1)
    transitions = objects.GuestTransitions.of(
        partition=partition,
        uuids=[instance.uuid],
        attempts=[claim["attempt"]],
        actions=[STOP],
        numbers=[freed.transition_number],
        moves=[{"migration": attempt.migration, "role": ClaimRole.ONLY.value}],
    )
    context.clients.compute.change_guests(context.new_ctxt(), names.host_of(claim["host"]), transitions)
    return context.retry_later(freed, f"its guest on {claim['host']} was off for migration {attempt.migration}")


def _kind_of(attempt: AgentAttempt, spec: objects.RequestSpec | None) -> MigrationKind:
    if attempt.state == GuestState.INCOMING:
        return MigrationKind.LIVE
    return MigrationKind.MIGRATION if spec is None else MigrationKind.RESIZE


def with_amounts_of(context: StepContext, instance: InstanceRecord, claim: Claim) -> InstanceRecord:
    spec = None if instance.open_migration is not None else resized_spec(context, instance, claim)
    if spec is None:
        return instance
    flavor = read_attempt(context, instance, claim).flavor
    resized = spec.with_values(flavor=flavor).obj_to_primitive()
    return replace(instance, spec=resized, flavor=flavor, amounts=count_amounts(spec))


def read_attempt(context: StepContext, instance: InstanceRecord, claim: Claim) -> AgentAttempt:
    clients = context.clients
    host = names.host_of(claim["host"])
    page = clients.call_agent(context.new_ctxt(), host, clients.compute.list_owners, [instance.uuid])
    for number, state, owner, transition, migration in page.rows(
        "attempts", "states", "owners", "transitions", "migrations"
    ):
        if number == claim["attempt"]:
            return AgentAttempt(state, owner.get("flavor"), transition or 0, migration or "")
    return AgentAttempt()


def resized_spec(context: StepContext, instance: InstanceRecord, claim: Claim) -> objects.RequestSpec | None:
    """Return a spec for the claim's amounts with the old flavor; None if the record has these amounts."""
    spec = context.spec_of(instance)
    if has_amounts(claim["allocations"], spec):
        return None
    resized: objects.RequestSpec = spec.with_values(resources=total_amounts(claim["allocations"]), groups={})
    return resized
