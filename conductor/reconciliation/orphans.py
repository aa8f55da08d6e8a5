# SPDX-License-Identifier: Apache-2.0
"""Orphans: confirmed claims without a guest on their host; only the host may release them."""

from oslo_log import log

from conductor.collaborators import Conductor
from conductor.store.interface import ConductorStore
from conductor.store.records import SagaStep
from rpcapi import errors, objects
from rpcapi.context import RequestContext
from rpcapi.resources import names
from rpcapi.validation.instances import check_uuids

LOG = log.getLogger(__name__)


def release(conductor: Conductor, ctxt: RequestContext, host: str, refs: objects.ClaimRefs) -> None:
    """Ask service host ``host`` to end these attempts; the records change with its report.

    Raises, before any change, InvalidRequest or a subclass, Unavailable or a subclass if host or store do not answer,
    or InstanceConflict if the host has the attempt or a step of the instance is due.
    """
    check_uuids(refs.consumers, conductor.max_instances)
    host = names.canonical(host)
    _check_idle(conductor.store, refs)
    page = conductor.clients.call_agent(ctxt, host, conductor.clients.compute.list_owners, list(refs.consumers))
    present = set(zip(page.uuids, page.attempts, strict=True))
    for uuid, attempt in refs.pairs():
        if (uuid, attempt) in present:
            raise errors.InstanceConflict(uuid=uuid, why=f"host {host} has attempt {attempt} of it")
    # Check again: the agent may have got a build in between.
    _check_idle(conductor.store, refs)
    conductor.clients.compute.terminate_instances(ctxt, host, refs)
    LOG.info("Asked host %s to release %d claims without guests", host, len(refs.consumers))


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
