# SPDX-License-Identifier: Apache-2.0
"""Leaked migrations: claims and guests left at the source of an ended migration.

Only the host itself may end a confirmed claim and its guest.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from oslo_log import log

from conductor.collaborators import Conductor, ServiceClients
from conductor.store.interface import ConductorStore
from rpcapi import errors, objects
from rpcapi.context import RequestContext
from rpcapi.resources import names
from rpcapi.resources.claims import ClaimRole, ClaimState
from rpcapi.resources.statuses import GuestState, InstanceStatus
from rpcapi.validation.instances import check_uuids

LOG = log.getLogger(__name__)

WITHOUT_GUEST = (InstanceStatus.DELETED, InstanceStatus.SHELVED_OFFLOADED)  # statuses of instances without any guest


def end(
    conductor: Conductor,
    ctxt: RequestContext,
    partition: str,
    host: str,
    refs: objects.ClaimRefs,
    *,
    ends_running: bool = False,
) -> None:
    """Ask service host ``host`` of ``partition`` to remove these guests and release their claims.

    ``ends_running`` is as in ConductorAPI. Raises, before any change, InvalidRequest or a subclass, Unavailable or a
    subclass if host or store do not answer, or InstanceConflict. InstanceConflict means:

    - the migration is in progress,
    - the claim has another role or host,
    - the guest may be the only copy of its instance, or needs ``ends_running``.
    """
    check_uuids(refs.consumers, conductor.max_instances)
    host = names.canonical(host)
    claims = [_source(conductor.clients, ctxt, partition, host, ref) for ref in refs.pairs()]
    sources = [claim for claim in claims if claim is not None]
    _check_ended(conductor.store, sources)
    page = conductor.clients.call_agent(ctxt, host, conductor.clients.compute.list_owners, list(refs.consumers))
    states = dict(zip(zip(page.uuids, page.attempts, strict=True), page.states, strict=True))
    for claim in sources:
        state = states.get((claim["consumer"], claim["attempt"]))
        if state is not None:
            _check_guest(conductor, ctxt, partition, claim, state, ends_running=ends_running)
    # Check again: a migration may have been recorded in between.
    _check_ended(conductor.store, sources)
    if not sources:
        return
    source_refs = objects.ClaimRefs.of(
        consumers=[claim["consumer"] for claim in sources], attempts=[claim["attempt"] for claim in sources]
    )
    conductor.clients.compute.terminate_instances(ctxt, host, source_refs)
    LOG.info("Asked host %s to end the claims of %d leaked migrations", host, len(sources))


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
    conductor: Conductor,
    ctxt: RequestContext,
    partition: str,
    claim: Mapping[str, Any],
    state: str,
    *,
    ends_running: bool,
) -> None:
    """Raise InstanceConflict for a guest that may be the only copy of its instance or needs ``ends_running``.

    Without the migration's record nobody knows which guest is the original. Other copies are confirmed claims that are
    not sources, and the image of an offloaded instance. A deleted instance needs no copy; if only the migration is
    recorded, the instance was deleted.
    """
    uuid, migration = claim["consumer"], claim["migration"]
    record = conductor.store.get([uuid]).get(uuid)
    is_known = migration in conductor.store.migrations([migration])
    is_deleted = record is not None and record.status == InstanceStatus.DELETED
    if not ends_running and state != GuestState.STOPPED:
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
    client = conductor.clients.claims_of(record.partition if record is not None else partition)
    others = client.list_claims(ctxt, consumer=uuid).claims
    if not any(other["state"] == ClaimState.CONFIRMED and other["role"] != ClaimRole.SOURCE for other in others):
        why = f"the guest on {claim['host']} may be the only copy: it has no other claim"
        raise errors.InstanceConflict(uuid=uuid, why=why)
