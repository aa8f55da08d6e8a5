# SPDX-License-Identifier: Apache-2.0
"""Step DESTINATION of an affinity group: all members moved by a call get a destination, or none.

Equal members of a request share a scheduler call, and no message is sent before all calls have answered. A refusal ends
the claims of the other members, and the group tries a different host (ADR 0290). The sagas of several requests run in
parallel, so the first waiting member selects for all. It writes its own record last, so that the selection is repeated
if the conductor dies.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace

from conductor.saga import cast, claims
from conductor.saga.live_moves import ABORTED, is_aborted
from conductor.saga.step_context import GroupMember, StepContext
from conductor.saga.transitions import building_status, set_step
from conductor.store.interface import ConductorStore
from conductor.store.migrations import MigrationRecord
from conductor.store.records import InstanceRecord, SagaStep
from rpcapi.resources import names
from rpcapi.resources.statuses import InstanceStatus, MigrationStatus

MAX_HOSTS = 10  # maximum hosts tried that accept only a part of the group; then it stays at its source

SelectFunction = Callable[[StepContext, Sequence[InstanceRecord]], list[InstanceRecord]]
ReadFunction = Callable[[MigrationRecord], Sequence[GroupMember]]

RETURNING = (
    *(MigrationStatus.REVERTING, MigrationStatus.REVERTED),
    *(MigrationStatus.ERROR, MigrationStatus.CANCELLED),
)
DELETED = (InstanceStatus.DELETING, InstanceStatus.DELETED)


def read_group(store: ConductorStore, migration: MigrationRecord) -> list[GroupMember]:
    """Return the instances whose last migration belongs to this group move, in request order."""
    migrations = store.migrations(migration.group)
    instances = store.get([record.instance for record in migrations.values()])
    requests = store.requests(sorted({instance.request for instance in instances.values()}))
    members = []
    for uuid in migration.group:
        instance = instances.get(migrations[uuid].instance) if uuid in migrations else None
        is_last = instance is not None and instance.migration is not None and instance.migration.uuid == uuid
        if instance is not None and is_last and instance.request in requests:
            members.append(GroupMember(instance, requests[instance.request]))
    return members


def read_once(read: ReadFunction) -> ReadFunction:
    groups: dict[str, Sequence[GroupMember]] = {}

    def read_or_recall(migration: MigrationRecord) -> Sequence[GroupMember]:
        first = migration.group[0]
        if first not in groups:
            groups[first] = read(migration)
        return groups[first]

    return read_or_recall


def select_group(context: StepContext, instance: InstanceRecord, select: SelectFunction) -> list[InstanceRecord]:
    """Select destinations for all waiting members if ``instance`` is the first; return the changed records.

    Waits until every member's claim is a source and no member can have a claim at a failed destination. If a member
    returns to its source, ``instance`` returns too, so that the group is never split. ``select`` is step SELECT.
    """
    members = context.read_group(instance.move)
    if any(_returns(member.instance) for member in members):
        return [_fail(instance, "another member of its group stays at its source")]
    waiting = [member for member in members if member.instance.step == SagaStep.DESTINATION]
    is_early = any(_is_awaited(member.instance, is_repeated=bool(instance.history)) for member in members)
    if is_early or not waiting or waiting[0].instance.uuid != instance.uuid:
        return [_wait(context, instance)]
    if any(is_aborted(member.instance) for member in waiting):
        return _leader_last([_fail(member.instance, ABORTED) for member in waiting], waiting)
    return _select_all(context, waiting, select)


def _returns(instance: InstanceRecord) -> bool:
    if instance.migration is None or instance.status in DELETED:
        return False
    return instance.migration.status in RETURNING or instance.step == SagaStep.ABORT


def _is_awaited(instance: InstanceRecord, *, is_repeated: bool) -> bool:
    """Return whether the selection must wait for a member; a repeated selection waits for all open moves.

    Members at step DESTINATION are ready for either selection.
    """
    if instance.status in DELETED:
        return False
    is_moving = is_repeated and instance.open_migration is not None and instance.step != SagaStep.DESTINATION
    return is_moving or instance.step == SagaStep.BEGIN_MOVE


def _select_all(context: StepContext, waiting: Sequence[GroupMember], select: SelectFunction) -> list[InstanceRecord]:
    claimed: list[InstanceRecord] = []
    groups = _equal_members(context, waiting)
    for number, (member_context, members) in enumerate(groups):
        records = select(member_context, members)
        if any(record.host is None for record in records):
            others = [instance for _context, group in groups[number + 1 :] for instance in group]
            return _leader_last(_select_again_or_fail(context, claimed, records, others), waiting)
        claimed += records
    return _leader_last(claimed, waiting)


def _select_again_or_fail(
    context: StepContext,
    claimed: Sequence[InstanceRecord],
    without_claim: Sequence[InstanceRecord],
    others: Sequence[InstanceRecord],
) -> list[InstanceRecord]:
    refusal = next((record.reason for record in without_claim if record.step == SagaStep.ABORT), None)
    if refusal is None:
        # No answer, or a conflicting claim must be settled first. The next selection finds the other claims again.
        return [*without_claim, *(_wait(context, _unassigned(record)) for record in (*claimed, *others))]
    if claimed and len(claimed[0].move.history) < MAX_HOSTS:
        return _try_next_host(context, claimed, [*without_claim, *others], refusal)
    reason = f"no host accepts its whole group: {refusal}"
    return [_fail(record, reason) for record in (*claimed, *without_claim, *others)]


def _equal_members(
    context: StepContext, waiting: Sequence[GroupMember]
) -> list[tuple[StepContext, list[InstanceRecord]]]:
    groups = []
    for request in {member.request.key: member.request for member in waiting}.values():
        member_context = replace(context, request=request)
        members = [member.instance for member in waiting if member.request.key == request.key]
        groups += [(member_context, group) for group in cast.group_by_spec(member_context.destination_spec, members)]
    return sorted(groups, key=lambda group: -len(group[1]))


def _try_next_host(
    context: StepContext, claimed: Sequence[InstanceRecord], others: Sequence[InstanceRecord], reason: str
) -> list[InstanceRecord]:
    """End the claims on a host that rejects a member; the next selection excludes the host."""
    host = names.host_of(claimed[0].host or "")
    answers = claims.abort(context, claimed)
    ended = answers is not None and all(
        answers[record.uuid, record.attempt].answer in claims.ENDED_ANSWERS for record in claimed
    )
    if not ended:
        return [_wait(context, _unassigned(record)) for record in (*claimed, *others)]
    return [_ignore_host(record, host, reason) for record in (*claimed, *others)]


def _unassigned(record: InstanceRecord) -> InstanceRecord:
    return replace(record, step=SagaStep.DESTINATION, host=None, allocations=None, alternates=(), reason=None)


def _wait(context: StepContext, instance: InstanceRecord) -> InstanceRecord:
    return context.retry_later(instance, "waiting for the other members of its group")


def _ignore_host(record: InstanceRecord, host: str, reason: str) -> InstanceRecord:
    migration = record.move
    entry = {"attempt": record.attempt, "host": host, "outcome": "unplaced", "reason": f"not the whole group: {reason}"}
    return set_step(
        _unassigned(record),
        SagaStep.DESTINATION,
        attempt=record.next_attempt,
        migration=replace(migration, history=[*migration.history, entry]),
    )


def _fail(instance: InstanceRecord, reason: str) -> InstanceRecord:
    return set_step(instance, SagaStep.ABORT, status=building_status(instance), reason=reason)


def _leader_last(records: Sequence[InstanceRecord], waiting: Sequence[GroupMember]) -> list[InstanceRecord]:
    leader = waiting[0].instance.uuid
    return sorted(records, key=lambda record: record.uuid == leader)
