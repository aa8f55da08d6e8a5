# SPDX-License-Identifier: Apache-2.0
"""Unverified claims: those that an instance's record names are vouched for."""

from oslo_log import log

from conductor.service_clients import NO_ANSWER_ERRORS, ServiceClients, summarize_error
from conductor.store.interface import ConductorStore
from conductor.store.records import InstanceRecord, InstanceStatus
from rpcapi import context, errors, objects
from rpcapi.resources import names

LOG = log.getLogger(__name__)

CALL_SECONDS = 20.0


class ClaimVouching:
    """Compares unverified claims of a host with the records, and vouches for those that a record names.

    The scheduler asks by a cast and again with the host's next audit, so a failure here needs no retry.
    """

    def __init__(self, store: ConductorStore, clients: ServiceClients) -> None:
        self._store = store
        self._clients = clients

    def check(self, partition: str, host: str, refs: objects.ClaimRefs) -> None:
        """Vouch for each of ``refs`` on service host ``host`` whose record names that attempt and host."""
        records = self._store.get(refs.consumers)
        matches = [(uuid, attempt) for uuid, attempt in refs.pairs() if is_named(records.get(uuid), attempt, host)]
        without_record = len(refs.consumers) - len(matches)
        if without_record:
            LOG.warning("No record names %d unverified attempts of host %s: see 'gantt audit'", without_record, host)
        if not matches:
            return
        match_refs = objects.ClaimRefs.of(
            consumers=[uuid for uuid, _attempt in matches], attempts=[attempt for _uuid, attempt in matches]
        )
        try:
            claims = self._clients.claims_of(partition)
            claims.vouch_for_claims(context.new().with_timeout(CALL_SECONDS), host, match_refs)
        except (*NO_ANSWER_ERRORS, errors.GanttError) as error:
            LOG.warning(
                "Vouching for %d claims of host %s failed; its next audit repeats it: %s",
                *(len(matches), host, summarize_error(error)),
            )
            return
        LOG.info("Vouched for %d claims of host %s, which their records name", len(matches), host)


def is_named(record: InstanceRecord | None, attempt: int, host: str) -> bool:
    """Return whether the record says that the instance is or may be on that host as that attempt."""
    return (
        record is not None
        and record.status != InstanceStatus.DELETED
        and record.attempt == attempt
        and not record.has_ended(attempt)
        and names.host_of(record.host or "") == host
    )
