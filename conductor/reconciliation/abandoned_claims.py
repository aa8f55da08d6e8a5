# SPDX-License-Identifier: Apache-2.0
"""Claims and guests left at the source of an ended migration; only the host itself may end them."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from oslo_log import log

from conductor.parts import NO_ANSWER_ERRORS, ConductorParts, ServiceClients, summarize_error
from conductor.store.interface import ConductorStore
from conductor.store.records import InstanceRecord, InstanceStatus, SagaStep
from rpcapi import context, errors, objects
from rpcapi.context import RequestContext
from rpcapi.objects import guest
from rpcapi.resources import names
from rpcapi.resources.claims import Answer, ClaimRole, ClaimState
from rpcapi.validation.instances import check_uuids

LOG = log.getLogger(__name__)

CALL_SECONDS = 20.0


def check_unverified(parts: ConductorParts, partition: str, host: str, refs: objects.ClaimRefs) -> None:
    """Vouch for each of ``refs`` whose record names this attempt on service host ``host``."""
    records = parts.store.get(refs.consumers)
    matches = [ref for ref in refs.pairs() if is_named(records.get(ref[0]), ref[1], host)]
    without_record = len(refs.consumers) - len(matches)
    if without_record:
        LOG.warning("No records for %d unverified attempts of host %s: see 'gantt audit'", without_record, host)
    if not matches:
        return
    match_refs = objects.ClaimRefs.of(
        consumers=[uuid for uuid, _attempt in matches], attempts=[attempt for _uuid, attempt in matches]
    )
    try:
        claims = parts.clients.claims_of(partition)
        answers = claims.vouch_for_claims(context.new().with_timeout(CALL_SECONDS), host, match_refs)
        rows = answers.rows("consumers", "attempts", "answers")
        vouched = [(uuid, attempt) for uuid, attempt, answer in rows if answer == Answer.CONFIRMED]
        _end_earlier_attempts(parts.clients, partition, set(matches) - set(vouched), records)
    except (*NO_ANSWER_ERRORS, errors.GanttError) as error:
        LOG.warning(
            "Vouching for %d claims of host %s failed; its next audit repeats it: %s",
            *(len(matches), host, summarize_error(error)),
        )
        return
    LOG.info("Vouched for %d claims of host %s that match their records", len(vouched), host)


def _end_earlier_attempts(
    clients: ServiceClients,
    partition: str,
    contradicted: Iterable[tuple[str, int]],
    records: Mapping[str, InstanceRecord],
) -> None:
    for uuid, attempt in sorted(contradicted):
        ctxt = context.new().with_timeout(CALL_SECONDS)
        for claim in clients.claims_of(partition).list_claims(ctxt, consumer=uuid).claims:
            if claim["attempt"] < attempt and not _is_source(records[uuid], claim["attempt"]):
                LOG.warning(
                    "Host %s has attempt %d of instance %s, whose record names attempt %d; sending terminate",
                    *(claim["host"], claim["attempt"], uuid, attempt),
                )
                refs = objects.ClaimRefs.of(consumers=[uuid], attempts=[claim["attempt"]])
                clients.compute.terminate_instances(ctxt, names.host_of(claim["host"]), refs)


def is_named(record: InstanceRecord | None, attempt: int, host: str) -> bool:
    """Return whether the record places, or may place, that attempt on that host."""
    if record is None or record.status == InstanceStatus.DELETED:
        return False
    if _is_source(record, attempt):
        return names.host_of(record.move.source_host) == host
    is_current = record.attempt == attempt and not record.has_ended(attempt)
    return is_current and names.host_of(record.host or "") == host


def _is_source(record: InstanceRecord, attempt: int) -> bool:
    return record.open_migration is not None and record.open_migration.source_attempt == attempt


WITHOUT_GUEST = (InstanceStatus.DELETED, InstanceStatus.SHELVED_OFFLOADED)  # statuses of instances without any guest


def end_leaked_migrations(
    parts: ConductorParts,
    ctxt: RequestContext,
    partition: str,
    host: str,
    refs: objects.ClaimRefs,
    *,
    ends_running: bool = False,
) -> None:
    """Request service host ``host`` of ``partition`` to remove these guests and release their claims.

    ``ends_running`` is as in ConductorAPI. Raises InvalidRequest or a subclass, Unavailable or a subclass if host or
    store do not answer, or InstanceConflict, before any change. InstanceConflict means:

    - the migration is in progress,
    - the claim has another role or host,
    - the guest may be the only copy of its instance, or needs ``ends_running``.
    """
    check_uuids(refs.consumers, parts.max_instances)
    host = names.canonical(host)
    claims = [_source(parts.clients, ctxt, partition, host, ref) for ref in refs.pairs()]
    sources = [claim for claim in claims if claim is not None]
    _check_ended(parts.store, sources)
    page = parts.clients.call_agent(ctxt, host, parts.clients.compute.list_owners, list(refs.consumers))
    states = dict(zip(zip(page.uuids, page.attempts, strict=True), page.states, strict=True))
    for claim in sources:
        state = states.get((claim["consumer"], claim["attempt"]))
        if state is not None:
            _check_guest(parts, ctxt, partition, claim, state, ends_running=ends_running)
    # Check again: a migration may have been recorded in between.
    _check_ended(parts.store, sources)
    if not sources:
        return
    source_refs = objects.ClaimRefs.of(
        consumers=[claim["consumer"] for claim in sources], attempts=[claim["attempt"] for claim in sources]
    )
    parts.clients.compute.terminate_instances(ctxt, host, source_refs)
    LOG.info("Requested host %s to end the claims of %d leaked migrations", host, len(sources))


def _check_ended(store: ConductorStore, sources: Sequence[Mapping[str, Any]]) -> None:
    for migration in store.migrations([claim["migration"] for claim in sources]).values():
        if not migration.has_ended:
            raise errors.InstanceConflict(
                uuid=migration.instance, why=f"its migration {migration.uuid} is {migration.status}"
            )


def _source(
    clients: ServiceClients, ctxt: RequestContext, partition: str, host: str, ref: tuple[str, int]
) -> Mapping[str, Any] | None:
    uuid, attempt = ref
    for claim in clients.claims_of(partition).list_claims(ctxt, consumer=uuid).claims:
        if claim["attempt"] != attempt:
            continue
        if names.host_of(claim["host"]) != host or claim["role"] != ClaimRole.SOURCE:
            why = f"its claim of attempt {attempt} is on {claim['host']}, and its role {claim['role']}"
            raise errors.InstanceConflict(uuid=uuid, why=why)
        return dict(claim)
    return None


def _check_guest(
    parts: ConductorParts,
    ctxt: RequestContext,
    partition: str,
    claim: Mapping[str, Any],
    state: str,
    *,
    ends_running: bool,
) -> None:
    """Raise InstanceConflict for a guest that may be the only copy of its instance or needs ``ends_running``.

    Without the migration's record nobody knows which guest is the original. Another copy is a confirmed claim that is
    not a source, or the image of an offloaded instance. A deleted instance needs none; with only the migration
    recorded, it was deleted.
    """
    uuid, migration = claim["consumer"], claim["migration"]
    record = parts.store.get([uuid]).get(uuid)
    is_known = migration in parts.store.migrations([migration])
    is_deleted = record is not None and record.status == InstanceStatus.DELETED
    if not ends_running and state != guest.STOPPED:
        why = f"its guest on {claim['host']} may be running; only operators may end it"
        raise errors.InstanceConflict(uuid=uuid, why=why)
    if not ends_running and not is_deleted and not is_known:
        why = f"its migration {migration} has no record, and the guest on {claim['host']} may be the original copy"
        raise errors.InstanceConflict(uuid=uuid, why=why)
    if is_known if record is None else record.status in WITHOUT_GUEST:
        return
    if record is not None and record.attempt == claim["attempt"]:
        why = f"its record names the guest on {claim['host']}, which may be the only copy; compare the copies first"
        raise errors.InstanceConflict(uuid=uuid, why=why)
    client = parts.clients.claims_of(record.partition if record is not None else partition)
    others = client.list_claims(ctxt, consumer=uuid).claims
    if not any(other["state"] == ClaimState.CONFIRMED and other["role"] != ClaimRole.SOURCE for other in others):
        why = f"the guest on {claim['host']} may be the only copy: it has no other claim"
        raise errors.InstanceConflict(uuid=uuid, why=why)


def release_orphans(parts: ConductorParts, ctxt: RequestContext, host: str, refs: objects.ClaimRefs) -> None:
    """Request service host ``host`` to end these attempts; their records follow its report.

    Raises InvalidRequest or a subclass, Unavailable or a subclass if host or store do not answer, or InstanceConflict
    if the host has the attempt or a step of the instance is due; before any change.
    """
    check_uuids(refs.consumers, parts.max_instances)
    host = names.canonical(host)
    _check_idle(parts.store, refs)
    page = parts.clients.call_agent(ctxt, host, parts.clients.compute.list_owners, list(refs.consumers))
    present = set(zip(page.uuids, page.attempts, strict=True))
    for uuid, attempt in refs.pairs():
        if (uuid, attempt) in present:
            raise errors.InstanceConflict(uuid=uuid, why=f"host {host} has attempt {attempt} of it")
    # Check again: the agent may have got a build in between.
    _check_idle(parts.store, refs)
    parts.clients.compute.terminate_instances(ctxt, host, refs)
    LOG.info("Requested host %s to release %d claims without guests", host, len(refs.consumers))


def _check_idle(store: ConductorStore, refs: objects.ClaimRefs) -> None:
    records = store.get(refs.consumers)
    for uuid, attempt in refs.pairs():
        migration = records[uuid].open_migration if uuid in records else None
        if migration is not None and migration.source_attempt == attempt:
            why = f"its migration {migration.uuid} is {migration.status}; confirm or revert it, or wait"
            raise errors.InstanceConflict(uuid=uuid, why=why)
        if uuid in records and records[uuid].step != SagaStep.DONE:
            why = f"it is {records[uuid].status}, and its step {records[uuid].step} is in progress; retry"
            raise errors.InstanceConflict(uuid=uuid, why=why)
