# SPDX-License-Identifier: Apache-2.0
"""Adoption of instances whose guest and claim outlived their record, as after a loss of writes."""

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from oslo_log import log

from conductor.admission import count_amounts, total_amounts
from conductor.collaborators import Conductor, ServiceClients
from conductor.reconciliation import vouching
from conductor.reconciliation.vouching import is_named
from conductor.store.records import BuildRequestRecord, InstanceRecord, SagaStep, make_request_key
from rpcapi import errors, objects
from rpcapi.context import RequestContext
from rpcapi.resources import names
from rpcapi.resources.claims import INSTANCE, ClaimRole, ClaimState
from rpcapi.resources.statuses import InstanceStatus
from rpcapi.validation.instances import check_uuids

LOG = log.getLogger(__name__)


class RunningGuest(NamedTuple):
    """Live attempt in its agent's journal; ``owner`` is as in GuestOwners."""

    uuid: str
    attempt: int
    node: str
    owner: Mapping[str, Any]


def adopt(conductor: Conductor, ctxt: RequestContext, partition: str, host: str, uuids: Sequence[str]) -> None:
    """Record instances that service host ``host`` of ``partition`` runs; existing records stay unchanged.

    The saga continues as after a sent build: the host reports what runs, and an ended guest leads to ERROR. For a
    moving instance, the claims of both ends settle the move first. Unverified claims are vouched for. Raises, before
    any change, InvalidRequest, Unavailable or a subclass, or InstanceConflict.
    """
    check_uuids(uuids, conductor.max_instances)
    host = names.canonical(host)
    guests = _guests(conductor.clients, ctxt, host, uuids)
    records = conductor.store.get(uuids)
    unrecorded = [guest for guest in guests if not _is_recorded(records, guest, host)]
    adoptions = [_adoption_of(conductor.clients, ctxt, partition, guest) for guest in unrecorded]
    for request, instance, amounts in adoptions:
        conductor.store.adopt(request, instance, amounts)
        LOG.info("Adopted instance %s, which runs on %s", instance.uuid, instance.host)
    if adoptions:
        conductor.wake()
    refs = objects.ClaimRefs.of(
        consumers=[guest.uuid for guest in guests], attempts=[guest.attempt for guest in guests]
    )
    vouching.check(conductor, partition, host, refs)


def _guests(clients: ServiceClients, ctxt: RequestContext, host: str, uuids: Sequence[str]) -> list[RunningGuest]:
    page = clients.call_agent(ctxt, host, clients.compute.list_owners, list(uuids))
    guests = {
        row[0]: RunningGuest(*row) for row in zip(page.uuids, page.attempts, page.names, page.owners, strict=True)
    }
    for uuid in uuids:
        if uuid not in guests:
            raise errors.InstanceConflict(uuid=uuid, why=f"host {host} runs no attempt of it")
    return [guests[uuid] for uuid in uuids]


def _claims(
    clients: ServiceClients, ctxt: RequestContext, partition: str, guest: RunningGuest
) -> list[Mapping[str, Any]]:
    """Return the instance's claims. Unverified ones are found by their node: they are not indexed by consumer."""
    client = clients.claims_of(partition)
    claims = list(client.list_claims(ctxt, consumer=guest.uuid).claims)
    marker = None
    while not any(_is_claim_of(guest, claim) for claim in claims):
        page = client.list_claims(ctxt, host=guest.node, marker=marker)
        claims += [claim for claim in page.claims if _is_claim_of(guest, claim)]
        marker = page.marker
        if marker is None:
            break
    return claims


def _adoption_of(
    clients: ServiceClients, ctxt: RequestContext, partition: str, guest: RunningGuest
) -> tuple[BuildRequestRecord, InstanceRecord, Mapping[str, int]]:
    claim = _claim_of(guest, _claims(clients, ctxt, partition, guest))
    spec = _make_spec(claim, guest.owner)
    project = claim["project"]
    identity = f"adopted {guest.uuid} {guest.attempt}"
    request = BuildRequestRecord(
        key=make_request_key(project, hashlib.sha256(identity.encode()).hexdigest()),
        request_id=claim["request_id"],
        project=project,
        user=claim["user"],
        flavor=spec.flavor,
        spec=spec.obj_to_primitive(),
    )
    allocations = claim["allocations"]
    instance = InstanceRecord(
        uuid=guest.uuid,
        request=request.key,
        status=InstanceStatus.BUILDING,
        step=SagaStep.CAST if claim["role"] == ClaimRole.ONLY else SagaStep.SETTLE,
        attempt=guest.attempt,
        host=claim["host"],
        allocations=None if allocations == {claim["host"]: spec.resources} else allocations,
        partition=partition,
    )
    return request, instance, count_amounts(spec)


def _is_recorded(records: Mapping[str, InstanceRecord], guest: RunningGuest, host: str) -> bool:
    """Return whether a record names the guest. Raises InstanceConflict if its record contradicts it."""
    record = records.get(guest.uuid)
    if record is None or is_named(record, guest.attempt, host):
        return record is not None
    raise errors.InstanceConflict(
        uuid=guest.uuid,
        why=f"its record is {record.status}, attempt {record.attempt} on {record.host or 'no host'}; "
        f"host {host} runs attempt {guest.attempt}",
    )


def _claim_of(guest: RunningGuest, claims: Sequence[Mapping[str, Any]]) -> Mapping[str, Any]:
    own = [claim for claim in claims if _is_claim_of(guest, claim)]
    others = [claim for claim in claims if claim not in own]
    if not own or own[0]["state"] == ClaimState.PREPARED:
        state = own[0]["state"] if own else "unknown to its partition"
        why = f"the claim of attempt {guest.attempt} on {guest.node} is {state}; the host's next audit decides on it"
        raise errors.InstanceConflict(uuid=guest.uuid, why=why)
    role, migration = own[0]["role"], own[0]["migration"]
    if own[0]["type"] != INSTANCE and role == ClaimRole.ONLY:
        raise errors.InstanceConflict(uuid=guest.uuid, why=f"its claim is of type {own[0]['type']}")
    if role == ClaimRole.DESTINATION:
        why = f"{guest.node} is the destination of migration {migration}; adopt it on its source, or fence the source"
        raise errors.InstanceConflict(uuid=guest.uuid, why=why)
    if any(migration is None or claim["migration"] != migration for claim in others):
        places = ", ".join(f"attempt {claim['attempt']} on {claim['host']}" for claim in others)
        raise errors.InstanceConflict(uuid=guest.uuid, why=f"it has other claims: {places}")
    return own[0]


def _is_claim_of(guest: RunningGuest, claim: Mapping[str, Any]) -> bool:
    return (claim["consumer"], claim["attempt"], claim["host"]) == guest[:3]


def _make_spec(claim: Mapping[str, Any], owner: Mapping[str, Any]) -> objects.RequestSpec:
    """Return a request spec for the claim's amounts; image, traits and hints are lost."""
    group = {name: owner[name] for name in ("group_id", "group_policy", "group_max_per_host") if owner.get(name)}
    return objects.RequestSpec.of(flavor=owner.get("flavor"), resources=total_amounts(claim["allocations"]), **group)
