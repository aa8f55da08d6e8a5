# SPDX-License-Identifier: Apache-2.0
"""Orphans: confirmed claims under which their host runs nothing."""

from oslo_log import log

from conductor.service_clients import ServiceClients
from conductor.store.interface import ConductorStore
from conductor.store.records import SagaStep
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
        InstanceConflict for an attempt that the host has, or while a step of the instance is due, before any change.
        """
        check_uuids(refs.consumers, self._max_instances)
        host = names.canonical(host)
        self._check_idle(refs)
        page = self._clients.call_agent(ctxt, host, self._clients.compute.list_owners, list(refs.consumers))
        present = set(zip(page.uuids, page.attempts, strict=True))
        for uuid, attempt in refs.pairs():
            if (uuid, attempt) in present:
                raise errors.InstanceConflict(uuid=uuid, why=f"host {host} has attempt {attempt} of it")
        # Again: the agent may have got a build between the two readings, and its answer.
        self._check_idle(refs)
        self._clients.compute.terminate_instances(ctxt, host, refs)
        LOG.info("Requested host %s to release %d claims that it runs nothing under", host, len(refs.consumers))

    def _check_idle(self, refs: objects.ClaimRefs) -> None:
        records = self._store.get(refs.consumers)
        for uuid, attempt in refs.pairs():
            migration = records[uuid].open_migration if uuid in records else None
            if migration is not None and migration.source_attempt == attempt:
                why = f"its migration {migration.uuid} is {migration.status}; confirm or revert it, or wait"
                raise errors.InstanceConflict(uuid=uuid, why=why)
            if uuid in records and records[uuid].step != SagaStep.DONE:
                why = f"it is {records[uuid].status}, and its step {records[uuid].step} is under way; retry"
                raise errors.InstanceConflict(uuid=uuid, why=why)
