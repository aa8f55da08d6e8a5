# SPDX-License-Identifier: Apache-2.0
"""Orphans: confirmed claims under which their host runs nothing."""

from collections.abc import Sequence

from oslo_log import log

from conductor.service_clients import ServiceClients
from conductor.store.interface import ConductorStore
from conductor.store.records import InstanceRecord, SagaStep
from conductor.vouching import records_by_consumer
from rpcapi import errors, objects
from rpcapi.context import RequestContext
from rpcapi.resources import names
from rpcapi.validation.instances import check_uuids

LOG = log.getLogger(__name__)


class OrphanRelease:
    """Has hosts release claims that they run nothing under: only the host itself may end a confirmed claim."""

    def __init__(self, store: ConductorStore, clients: ServiceClients, max_instances: int) -> None:
        self._store = store
        self._clients = clients
        self._max_instances = max_instances

    def release(self, ctxt: RequestContext, host: str, refs: objects.ClaimRefs) -> None:
        """Request service host ``host`` to end these attempts; a record that names one then follows its host's report.

        Raises InvalidRequest or a subclass, Unavailable or a subclass if host or store do not answer, or
        InstanceConflict if the host has a guest of the instance, under any identity, or while a step of the instance
        is due, before any change.
        """
        check_uuids(refs.consumers, self._max_instances)
        host = names.canonical(host)
        self._check_idle(refs.consumers)
        page = self._clients.call_agent(ctxt, host, self._clients.compute.list_owners, list(refs.consumers))
        # A host that missed the message about a hand-over has the guest under its former identity.
        if page.uuids:
            uuid, attempt, instance = page.uuids[0], page.attempts[0], (page.instances or page.uuids)[0]
            why = f"host {host} has attempt {attempt} of {'it' if uuid == instance else f'its migration {uuid}'}"
            raise errors.InstanceConflict(uuid=instance, why=why)
        # Again: the agent may have got a build between the two readings, and its answer.
        self._check_idle(refs.consumers)
        self._clients.compute.terminate_instances(ctxt, host, refs)
        LOG.info("Requested host %s to release %d claims that it runs nothing under", host, len(refs.consumers))

    def _check_idle(self, uuids: Sequence[str]) -> None:
        for consumer, record in records_by_consumer(self._store, uuids).items():
            if consumer == record.uuid:
                self._check_step(record)
            elif record.open_migration is not None and record.open_migration.uuid == consumer:
                why = f"its migration {consumer} is {record.open_migration.status}; confirm or revert it, or wait"
                raise errors.InstanceConflict(uuid=record.uuid, why=why)

    @staticmethod
    def _check_step(record: InstanceRecord) -> None:
        if record.step != SagaStep.DONE:
            why = f"it is {record.status}, and its step {record.step} is under way; retry"
            raise errors.InstanceConflict(uuid=record.uuid, why=why)
