# SPDX-License-Identifier: Apache-2.0
"""Leaked migrations: claims that a migration which has ended still holds at its source, with or without a guest."""

from collections.abc import Collection, Sequence

from oslo_log import log

from conductor.service_clients import ServiceClients
from conductor.store.interface import ConductorStore
from conductor.store.records import InstanceStatus
from rpcapi import errors, objects
from rpcapi.context import RequestContext
from rpcapi.objects.transition import END
from rpcapi.resources import names
from rpcapi.resources.claims import MIGRATION, ClaimState
from rpcapi.validation.instances import check_uuids

LOG = log.getLogger(__name__)


class LeakedMigrations:
    """Has hosts end what leaked migrations hold: only the host itself may end a confirmed claim and its guest."""

    def __init__(self, store: ConductorStore, clients: ServiceClients, max_migrations: int) -> None:
        self._store = store
        self._clients = clients
        self._max_migrations = max_migrations

    def end(self, ctxt: RequestContext, partition: str, host: str, refs: objects.ClaimRefs) -> None:
        """Request service host ``host`` of ``partition`` to remove the guests of these claims, and to release them.

        Raises InvalidRequest or a subclass, Unavailable or a subclass if host or store do not answer, or
        InstanceConflict, before any change: for a migration that is under way, a claim that is no migration's or not
        on this host, and a guest that may be the only copy of its instance.
        """
        check_uuids(refs.consumers, self._max_migrations)
        host = names.canonical(host)
        self._check_ended(refs.consumers)
        attempts = {ref[0]: ref[1] for ref in refs.pairs() if self._has_claim(ctxt, partition, host, *ref)}
        instances = self._instances(ctxt, host, refs)
        for uuid, instance in instances.items():
            self._check_other_copy(ctxt, partition, uuid, instance)
        # Again: it may have been recorded between the readings.
        self._check_ended(refs.consumers)
        if not attempts:
            return
        transitions = objects.GuestTransitions.of(
            partition=partition,
            consumers=list(attempts),
            attempts=list(attempts.values()),
            instances=[instances.get(uuid, uuid) for uuid in attempts],
            origins=[[] for _ in attempts],
            actions=[END for _ in attempts],
        )
        self._clients.compute.change_guests(ctxt, host, transitions)
        LOG.info("Requested host %s to end what %d leaked migrations hold", host, len(attempts))

    def _check_ended(self, uuids: Sequence[str]) -> None:
        for migration in self._store.migrations(uuids).values():
            if not migration.has_ended:
                raise errors.InstanceConflict(
                    uuid=migration.instance, why=f"its migration {migration.uuid} is {migration.status}"
                )

    def _has_claim(self, ctxt: RequestContext, partition: str, host: str, uuid: str, attempt: int) -> bool:
        """Return whether the migration still has its claim; raises InstanceConflict for a claim that is another one."""
        for claim in self._clients.claims_of(partition).list_claims(ctxt, consumer=uuid).claims:
            if claim["attempt"] != attempt or names.host_of(claim["host"]) != host:
                raise errors.InstanceConflict(
                    uuid=uuid, why=f"its claim is attempt {claim['attempt']} on {claim['host']}"
                )
            if claim["type"] != MIGRATION or claim["state"] != ClaimState.CONFIRMED:
                why = f"its claim is {claim['state']} and of type {claim['type']}, not a confirmed one of a migration"
                raise errors.InstanceConflict(uuid=uuid, why=why)
            return True
        return False

    def _instances(self, ctxt: RequestContext, host: str, refs: objects.ClaimRefs) -> dict[str, str]:
        """Return the instance of each migration whose guest the host has."""
        page = self._clients.call_agent(ctxt, host, self._clients.compute.list_owners, list(refs.consumers))
        instances = page.instances or page.uuids
        rows = zip(page.uuids, page.attempts, instances, strict=True)
        expected: Collection[tuple[str, int]] = set(refs.pairs())
        return {uuid: instance for uuid, attempt, instance in rows if (uuid, attempt) in expected}

    def _check_other_copy(self, ctxt: RequestContext, partition: str, uuid: str, instance: str) -> None:
        """Raise InstanceConflict if the guest of migration ``uuid`` may be the only copy of its instance.

        It is not where the instance is deleted or the record of the migration says how it ended. Without that record,
        as in a store that lost its tail, the instance must have a claim of its own.
        """
        if uuid in self._store.migrations([uuid]):
            return
        record = self._store.get([instance]).get(instance)
        if record is not None and record.status == InstanceStatus.DELETED:
            return
        client = self._clients.claims_of(record.partition if record is not None else partition)
        states = {claim["state"] for claim in client.list_claims(ctxt, consumer=instance).claims}
        if ClaimState.CONFIRMED not in states:
            why = f"migration {uuid} has no record, and its guest may be the only copy: the instance has no other claim"
            raise errors.InstanceConflict(uuid=instance, why=why)
