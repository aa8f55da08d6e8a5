# SPDX-License-Identifier: Apache-2.0
"""Unverified claims: the conductor vouches for claims that instance records name.

The scheduler asks by cast and again at the host's next audit, so a failure needs no retry. If another host has a live
claim of an earlier attempt, that host must end it: the recorded attempt began only after the earlier one had ended. The
next audit then accepts the vouched claim.
"""

from collections.abc import Iterable, Mapping

from oslo_log import log

from conductor.collaborators import CALL_ERRORS, Conductor, ServiceClients, summarize_error
from conductor.store.records import InstanceRecord
from rpcapi import context, objects
from rpcapi.resources import names
from rpcapi.resources.claims import Answer
from rpcapi.resources.statuses import InstanceStatus

LOG = log.getLogger(__name__)

CALL_SECONDS = 20.0


def check(conductor: Conductor, partition: str, host: str, refs: objects.ClaimRefs) -> None:
    """Vouch for each of ``refs`` whose record names this attempt on service host ``host``."""
    records = conductor.store.get(refs.consumers)
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
        claims = conductor.clients.claims_of(partition)
        answers = claims.vouch_for_claims(context.new().with_timeout(CALL_SECONDS), host, match_refs)
        rows = answers.rows("consumers", "attempts", "answers")
        vouched = [(uuid, attempt) for uuid, attempt, answer in rows if answer == Answer.CONFIRMED]
        _end_earlier_attempts(conductor.clients, partition, set(matches) - set(vouched), records)
    except CALL_ERRORS as error:
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
    """Return whether the record assigns, or may assign, this attempt to this host."""
    if record is None or record.status == InstanceStatus.DELETED:
        return False
    if _is_source(record, attempt):
        return names.host_of(record.move.source_host) == host
    is_current = record.attempt == attempt and not record.has_ended(attempt)
    return is_current and names.host_of(record.host or "") == host


def _is_source(record: InstanceRecord, attempt: int) -> bool:
    return record.open_migration is not None and record.open_migration.source_attempt == attempt
