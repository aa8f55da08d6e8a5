# SPDX-License-Identifier: Apache-2.0
"""Requests to evacuate instances from lost hosts; the saga executes them."""

from collections.abc import Callable, Collection, Mapping, Sequence

from conductor import claim_answers
from conductor.collaborators import Conductor, ServiceClients, answered
from conductor.lookup import find_instances
from conductor.reconciliation.reconciler import ENDED, compared_record
from conductor.requests import requested_changes
from conductor.requests.target_checks import check_target
from conductor.saga import evacuations
from conductor.saga.destinations import destination_spec
from conductor.saga.step_context import instance_spec
from conductor.saga.transitions import end_attempt
from conductor.store.migrations import MigrationRecord
from conductor.store.records import InstanceRecord, SagaStep
from rpcapi import errors
from rpcapi.context import RequestContext
from rpcapi.resources import names
from rpcapi.resources.claims import Answer
from rpcapi.resources.statuses import ON_HOST, InstanceStatus, MigrationStatus

# Statuses of instances with a disk on a host; a shelved instance has an image instead.
ON_DISK = ON_HOST - {InstanceStatus.SHELVING, InstanceStatus.SHELVED, InstanceStatus.VERIFY_RESIZE}
# Steps in which an instance in ERROR may be evacuated. ABORT only looks for claims, as the evacuation's selection does.
RESTING = (SagaStep.DONE, SagaStep.ABORT)
AttemptAnswers = Mapping[tuple[str, int], str]  # {(instance, attempt): answer}
Change = Callable[[InstanceRecord], InstanceRecord | None]


def evacuate(
    conductor: Conductor,
    ctxt: RequestContext,
    uuids: Sequence[str],
    migrations: Sequence[str],
    target: str | None = None,
) -> None:
    """Mark instances for evacuation, each under its migration uuid; idempotent.

    If set, only ``target``, a node or service host, may take the instances. Raises, before any change, InvalidRequest,
    Unavailable or a subclass, UnknownInstance, UnknownHost, InstanceConflict, HostIsUp, or NoValidHost for the target;
    Conflict or StoreUnavailable if the caller must retry.
    """
    migration_uuids = requested_changes.pair_migrations(uuids, migrations, conductor.max_instances)
    target = None if target is None else names.canonical(target)
    change = plan(conductor, ctxt, uuids, migration_uuids, target)
    requested_changes.apply(conductor, uuids, change, "evacuate_instances")


def plan(
    conductor: Conductor,
    ctxt: RequestContext,
    uuids: Sequence[str],
    migrations: Mapping[str, str],
    target: str | None = None,
) -> Change:
    records = find_instances(conductor.store, uuids)
    new = [record for record in records.values() if not _is_recorded(record, migrations[record.uuid])]
    for record in new:
        _check_status(record)
    for uuid, migration in conductor.store.migrations([migrations[record.uuid] for record in new]).items():
        raise errors.InstanceConflict(
            uuid=migration.instance, why=f"migration {uuid} is an earlier migration of it; use another uuid"
        )
    answers = _answers(conductor.clients, ctxt, new)
    hosts_in_use = {
        _source_host(record)
        for record in new
        if not record.has_ended(record.attempt) and answers.get((record.uuid, record.attempt)) not in ENDED
    }
    for host in sorted({_source_host(record) for record in new}):
        _check_host(conductor.clients, ctxt, host, in_use=host in hosts_in_use)
    requests = conductor.store.requests(sorted({record.request for record in records.values()}))

    def migration_of(record: InstanceRecord) -> MigrationRecord:
        return evacuations.make_migration(
            record, migrations[record.uuid], target, requests[record.request], ctxt.request_id
        )

    lost_records = [lost_record(record, answers) for record in new]
    if target is not None:
        for record in lost_records:
            _check_not_source(record, target)
        specs = [
            destination_spec(
                instance_spec(record, requests[record.request]), migration_of(record), conductor.clients.partition
            )
            for record in lost_records
        ]
        check_target(conductor.clients, ctxt, target, specs, takes_all=True)

    def change(record: InstanceRecord) -> InstanceRecord | None:
        if _is_recorded(record, migrations[record.uuid]):
            return None
        _check_status(record)
        ended_record = lost_record(record, answers)
        return evacuations.begin(ended_record, migration_of(ended_record))

    return change


def _answers(clients: ServiceClients, ctxt: RequestContext, records: Sequence[InstanceRecord]) -> AttemptAnswers:
    groups: dict[str | None, list[InstanceRecord]] = {}
    for record in records:
        if record.host is not None and not record.has_ended(record.attempt):
            groups.setdefault(record.partition, []).append(record)
    answers: dict[tuple[str, int], str] = {}
    for partition, group in groups.items():
        refs = [(record.uuid, record.attempt) for record in group]
        results = answered("The claims service", claim_answers.find, ctxt, clients, partition, refs)
        answers |= {ref: claim.answer for ref, claim in zip(refs, results, strict=True)}
    return answers


def _check_host(clients: ServiceClients, ctxt: RequestContext, host: str, *, in_use: bool) -> None:
    """Raise HostIsUp for a live host, unless all claims have ended and the host has audited since."""
    document = answered("The scheduler", clients.service_document, ctxt, host)
    if document is not None and document.get("alive") and (in_use or not document.get("audited")):
        raise errors.HostIsUp(host=host)


def lost_record(record: InstanceRecord, answers: AttemptAnswers) -> InstanceRecord:
    """Return the record in ERROR, its attempt lost with the host.

    Raises InstanceConflict while the claim may be live.
    """
    answer = answers.get((record.uuid, record.attempt))
    if record.status == InstanceStatus.ERROR:
        if record.has_ended(record.attempt):
            return record
        ended = answer in ENDED
        ended_record = end_attempt(record, evacuations.LOST, f"its claim was {answer}") if ended else None
    else:  # A fence is final; the report of any other end may be on its way.
        ended_record = compared_record(record, answer, None) if answer == Answer.FENCED else None
    if ended_record is None:
        host = names.host_of(record.host or "")
        why = f"its claim on host {host} is {answer or 'not known'}; fence the host first, or retry when it is in ERROR"
        raise errors.InstanceConflict(uuid=record.uuid, why=why)
    return ended_record


def is_lost(record: InstanceRecord) -> bool:
    """Return whether the instance is in ERROR because its host is gone or its evacuation failed."""
    is_settled = record.status == InstanceStatus.ERROR and record.step in RESTING
    return is_settled and (evacuations.has_run(record) or evacuations.has_failed(record))


def _source_host(record: InstanceRecord) -> str:
    return names.host_of(evacuations.source_of(record))


def _check_not_source(record: InstanceRecord, target: str) -> None:
    if names.fold(names.host_of(target)) == names.fold(_source_host(record)):
        raise errors.InvalidRequest(why=f"target {target} is the host that {record.uuid} leaves")


def _is_recorded(record: InstanceRecord, migration: str) -> bool:
    return record.migration is not None and record.migration.uuid == migration


def _check_status(record: InstanceRecord) -> None:
    migration = record.open_migration or record.evacuation
    if migration is not None:
        why = f"its migration {migration.uuid} is {MigrationStatus(migration.status)}"
    elif record.status in ON_DISK:
        return
    elif record.status != InstanceStatus.ERROR:
        allowed: Collection[InstanceStatus] = (*sorted(ON_DISK), InstanceStatus.ERROR)
        why = f"it is {record.shown_status}; an evacuation is possible from {', '.join(allowed)}"
    elif record.step not in RESTING:
        why = f"its step {record.step} is in progress; retry"
    elif is_lost(record) or (record.host is not None and not record.has_ended(record.attempt)):
        return
    else:
        why = "it is in ERROR because it was never built; delete it and boot a new instance"
    raise errors.InstanceConflict(uuid=record.uuid, why=why)
