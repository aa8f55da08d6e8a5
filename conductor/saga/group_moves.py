# SPDX-License-Identifier: Apache-2.0
"""Step DESTINATION of an affinity group: all members that one call moves get a destination, or none of them does.

The claims of equal members of a request are one call of the scheduler. Members of several requests, or of different
flavors, are several calls: no message about any of them is sent before all have answered, and a refusal of one ends
the claims of the others, which are then tried on another host (ADR 0290).

The members may belong to several requests, whose sagas run at the same time. One member selects for all: the first one
that waits. Its own record is written last, so that a conductor that is killed meanwhile repeats the selection.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace

from conductor.saga import cast, claims
from conductor.saga.live_moves import ABORTED, is_aborted
from conductor.saga.saga_pass import GroupMember, SagaPass
from conductor.saga.transitions import building_status, set_step
from conductor.store.interface import ConductorStore
from conductor.store.migrations import MigrationRecord, MigrationStatus
from conductor.store.records import InstanceRecord, InstanceStatus, SagaStep
from rpcapi.resources import names

MAX_HOSTS = 10  # that accept some members of a group and not all, until the group stays where it is

SelectFunction = Callable[[SagaPass, Sequence[InstanceRecord]], list[InstanceRecord]]
ReadFunction = Callable[[MigrationRecord], Sequence[GroupMember]]

RETURNING = (
    *(MigrationStatus.REVERTING, MigrationStatus.REVERTED),
    *(MigrationStatus.ERROR, MigrationStatus.CANCELLED),
)
DELETED = (InstanceStatus.DELETING, InstanceStatus.DELETED)


def read_group(store: ConductorStore, migration: MigrationRecord) -> list[GroupMember]:
    """Return the instances whose last migration is one of this move, in the order of the request."""
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
    """Return ``read`` with the members of each group as they were when it was first called."""
    groups: dict[str, Sequence[GroupMember]] = {}

    def read_or_recall(migration: MigrationRecord) -> Sequence[GroupMember]:
        first = migration.group[0]
        if first not in groups:
            groups[first] = read(migration)
        return groups[first]

    return read_or_recall


def select_group(saga_pass: SagaPass, instance: InstanceRecord, select: SelectFunction) -> list[InstanceRecord]:
    """Return the changed records of the members that wait for a destination, if ``instance`` is the first of them.

    The selection waits while the claim of another member is not a source yet. After a destination failed, it also waits
    while another member may have a claim there. If another member returns to its source, ``instance`` returns too:
    otherwise the group could be split. ``select`` is step SELECT.
    """
    members = saga_pass.read_group(instance.move)
    if any(_returns(member.instance) for member in members):
        return [_fail(instance, "another member of its group stays at its source")]
    waiting = [member for member in members if member.instance.step == SagaStep.DESTINATION]
    is_early = any(_is_awaited(member.instance, is_repeated=bool(instance.history)) for member in members)
    if is_early or not waiting or waiting[0].instance.uuid != instance.uuid:
        return [_wait(saga_pass, instance)]
    if any(is_aborted(member.instance) for member in waiting):
        return _leader_last([_fail(member.instance, ABORTED) for member in waiting], waiting)
    return _select_all(saga_pass, waiting, select)


def _returns(instance: InstanceRecord) -> bool:
    """Return whether a member returns or has returned to its source; a deleted member does neither."""
    if instance.migration is None or instance.status in DELETED:
        return False
    return instance.migration.status in RETURNING or instance.step == SagaStep.ABORT


def _is_awaited(instance: InstanceRecord, *, is_repeated: bool) -> bool:
    """Return whether the selection waits for a member; a repeated one waits for all that have not ended."""
    if instance.status in DELETED:
        return False
    is_moving = is_repeated and instance.open_migration is not None and instance.step != SagaStep.DESTINATION
    return is_moving or instance.step == SagaStep.BEGIN_MOVE


def _select_all(saga_pass: SagaPass, waiting: Sequence[GroupMember], select: SelectFunction) -> list[InstanceRecord]:
    claimed: list[InstanceRecord] = []
    groups = _equal_members(saga_pass, waiting)
    for number, (member_pass, members) in enumerate(groups):
        records = select(member_pass, members)
        if any(record.host is None for record in records):
            others = [instance for _pass, group in groups[number + 1 :] for instance in group]
            return _leader_last(_select_again_or_fail(saga_pass, claimed, records, others), waiting)
        claimed += records
    return _leader_last(claimed, waiting)


def _select_again_or_fail(
    saga_pass: SagaPass,
    claimed: Sequence[InstanceRecord],
    without_claim: Sequence[InstanceRecord],
    others: Sequence[InstanceRecord],
) -> list[InstanceRecord]:
    """Return the records after the call for the members ``without_claim``; ``others`` were not selected for."""
    refusal = next((record.reason for record in without_claim if record.step == SagaStep.ABORT), None)
    if refusal is None:
        # The answer is unknown, or a claim is to be found first; the next selection finds those of the others again.
        return [*without_claim, *(_wait(saga_pass, _unassigned(record)) for record in (*claimed, *others))]
    if claimed and len(claimed[0].move.history) < MAX_HOSTS:
        return _try_next_host(saga_pass, claimed, [*without_claim, *others], refusal)
    reason = f"no host accepts its whole group: {refusal}"
    return [_fail(record, reason) for record in (*claimed, *without_claim, *others)]


def _equal_members(saga_pass: SagaPass, waiting: Sequence[GroupMember]) -> list[tuple[SagaPass, list[InstanceRecord]]]:
    """Return the members that one call of the scheduler selects for, each with the pass of their request."""
    groups = []
    for request in {member.request.key: member.request for member in waiting}.values():
        member_pass = replace(saga_pass, request=request)
        members = [member.instance for member in waiting if member.request.key == request.key]
        groups += [(member_pass, group) for group in cast.group_by_spec(member_pass.destination_spec, members)]
    return sorted(groups, key=lambda group: -len(group[1]))


def _try_next_host(
    saga_pass: SagaPass, claimed: Sequence[InstanceRecord], others: Sequence[InstanceRecord], reason: str
) -> list[InstanceRecord]:
    """End the claims on a host that does not accept all members; the next selection ignores that host."""
    host = names.host_of(claimed[0].host or "")
    answers = claims.abort(saga_pass, claimed)
    ended = answers is not None and all(
        answers[record.uuid, record.attempt].answer in claims.ENDED_ANSWERS for record in claimed
    )
    if not ended:
        return [_wait(saga_pass, _unassigned(record)) for record in (*claimed, *others)]
    return [_ignore_host(record, host, reason) for record in (*claimed, *others)]


def _unassigned(record: InstanceRecord) -> InstanceRecord:
    return replace(record, step=SagaStep.DESTINATION, host=None, allocations=None, alternates=(), reason=None)


def _wait(saga_pass: SagaPass, instance: InstanceRecord) -> InstanceRecord:
    return saga_pass.retry_later(instance, "waiting for the other members of its group")


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
    """Return the record with the step that ends its claim at a destination, if there is one; then it returns."""
    return set_step(instance, SagaStep.ABORT, status=building_status(instance), reason=reason)


def _leader_last(records: Sequence[InstanceRecord], waiting: Sequence[GroupMember]) -> list[InstanceRecord]:
    leader = waiting[0].instance.uuid
    return sorted(records, key=lambda record: record.uuid == leader)
