# SPDX-License-Identifier: Apache-2.0
"""Leaked migrations: claims that a migration which has ended still holds at its source, with or without a guest."""

from collections.abc import Sequence
from typing import NamedTuple

from oslo_log import log

from conductor.service_clients import ServiceClients
from conductor.store.interface import ConductorStore
from conductor.store.records import InstanceStatus
from rpcapi import errors, objects
from rpcapi.context import RequestContext
from rpcapi.objects import guest
from rpcapi.objects.transition import END
from rpcapi.resources import names
from rpcapi.resources.claims import MAX_INSTANCES, MIGRATION, ClaimState
from rpcapi.validation.instances import check_uuids

LOG = log.getLogger(__name__)


class SourceGuest(NamedTuple):
    """A guest that its host runs under a migration's claim; ``state`` is '' if an older agent does not say it."""

    instance: str
    state: str


class LeakedMigrations:
    """Has hosts end what leaked migrations hold: only the host itself may end a confirmed claim and its guest."""

    def __init__(self, store: ConductorStore, clients: ServiceClients, max_migrations: int) -> None:
        self._store = store
        self._clients = clients
        self._max_migrations = max_migrations

    def end(
        self, ctxt: RequestContext, partition: str, host: str, refs: objects.ClaimRefs, *, ends_running: bool = False
    ) -> None:
        """Request service host ``host`` of ``partition`` to remove the guests of these claims, and to release them.

        ``ends_running`` is as in ConductorAPI. Raises InvalidRequest or a subclass, Unavailable or a subclass if host
        or store do not answer, or InstanceConflict, before any change. InstanceConflict is raised for:

        - a migration under way,
        - a claim of another type or on another host,
        - a guest that may be the only copy of its instance, or that needs ``ends_running``,
        - a claim without a guest, if the host runs a guest without a claim.
        """
        check_uuids(refs.consumers, self._max_migrations)
        host = names.canonical(host)
        self._check_ended(refs.consumers)
        attempts = {ref[0]: ref[1] for ref in refs.pairs() if self._has_claim(ctxt, partition, host, *ref)}
        guests = self._guests(ctxt, host, refs)
        for uuid, source in guests.items():
            if not ends_running:
                self._check_leftover(uuid, host, source)
            self._check_other_copy(ctxt, partition, uuid, source.instance)
        self._check_identities(ctxt, partition, host, sorted(attempts.keys() - guests.keys()))
        # Again: it may have been recorded between the readings.
        self._check_ended(refs.consumers)
        if not attempts:
            return
        transitions = objects.GuestTransitions.of(
            partition=partition,
            consumers=list(attempts),
            attempts=list(attempts.values()),
            instances=[guests[uuid].instance if uuid in guests else uuid for uuid in attempts],
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

    def _guests(self, ctxt: RequestContext, host: str, refs: objects.ClaimRefs) -> dict[str, SourceGuest]:
        """Return the guest of each migration that the host has."""
        page = self._clients.call_agent(ctxt, host, self._clients.compute.list_owners, list(refs.consumers))
        instances, states = page.instances or page.uuids, page.states or [""] * len(page.uuids)
        rows = zip(page.uuids, page.attempts, instances, states, strict=True)
        expected = set(refs.pairs())
        return {uuid: SourceGuest(*source) for uuid, attempt, *source in rows if (uuid, attempt) in expected}

    def _check_identities(self, ctxt: RequestContext, partition: str, host: str, missing: Sequence[str]) -> None:
        """Raise InstanceConflict if the host runs a guest without a claim, perhaps a migration's.

        A host that missed the message about a hand-over runs the guest under its former identity.
        """
        marker = None
        while missing:
            page = self._clients.call_agent(ctxt, host, self._clients.compute.list_guests, marker, MAX_INSTANCES)
            refs = objects.ClaimRefs.of(consumers=list(page.uuids), attempts=list(page.attempts))
            answers = self._clients.claims_of(partition).find_claims(ctxt, refs).answers if page.uuids else []
            for (uuid, attempt), answer in zip(refs.pairs(), answers, strict=True):
                if answer not in (ClaimState.PREPARED, ClaimState.CONFIRMED):
                    why = f"host {host} runs it as attempt {attempt} without a claim, maybe under that of {missing[0]}"
                    raise errors.InstanceConflict(uuid=uuid, why=f"{why}; restart its agent, which audits")
            marker = page.marker
            if marker is None:
                return

    def _check_leftover(self, uuid: str, host: str, source: SourceGuest) -> None:
        """Raise InstanceConflict for a guest that runs, or may be the original copy of its instance.

        Without the record of the migration nobody knows which copy the instance had when its move was forgotten.
        """
        if source.state != guest.STOPPED:
            why = f"the guest of its migration {uuid} may be running on {host}; only an operator may end it"
            raise errors.InstanceConflict(uuid=source.instance, why=why)
        record = self._store.get([source.instance]).get(source.instance)
        is_deleted = record is not None and record.status == InstanceStatus.DELETED
        if not is_deleted and uuid not in self._store.migrations([uuid]):
            why = f"its migration {uuid} has no record, and the guest on {host} may be the original copy"
            raise errors.InstanceConflict(uuid=source.instance, why=why)

    def _check_other_copy(self, ctxt: RequestContext, partition: str, uuid: str, instance: str) -> None:
        """Raise InstanceConflict if the guest of migration ``uuid`` may be the only copy of its instance.

        Another copy is a confirmed claim of the instance itself, or the image of an offloaded instance. A deleted
        instance needs no copy, nor does an instance whose record expired before the migration's record.
        """
        record = self._store.get([instance]).get(instance)
        if record is None and uuid in self._store.migrations([uuid]):
            return
        if record is not None and record.status in (InstanceStatus.DELETED, InstanceStatus.SHELVED_OFFLOADED):
            return
        client = self._clients.claims_of(record.partition if record is not None else partition)
        states = {claim["state"] for claim in client.list_claims(ctxt, consumer=instance).claims}
        if ClaimState.CONFIRMED not in states:
            why = f"the guest of its migration {uuid} may be the only copy: the instance has no other claim"
            raise errors.InstanceConflict(uuid=instance, why=why)
