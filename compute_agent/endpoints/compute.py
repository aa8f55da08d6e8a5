# SPDX-License-Identifier: Apache-2.0
"""RPC endpoint of one service host; rpcapi.clients.compute.ComputeAPI documents the methods."""

from collections.abc import Mapping, Sequence
from typing import Any

import oslo_messaging as messaging
from oslo_log import log

from compute_agent import metrics
from compute_agent.attempt import Attempt, AttemptRef, Stage
from compute_agent.attempts.builder import terminate
from compute_agent.attempts.copies import GuestCopy, apply_copies
from compute_agent.attempts.guest_list import list_guests, list_owners
from compute_agent.attempts.migration_checks import check_destination, check_source, list_copies
from compute_agent.attempts.operations import GuestOperation, apply_operations
from compute_agent.attempts.transitions import GuestTransition, apply_transitions
from compute_agent.clock import wall_ms
from compute_agent.resources.requirements import BuildRequirements
from compute_agent.runtime.service_host import ServiceHost
from rpcapi import errors, objects
from rpcapi.clients.compute import ComputeAPI
from rpcapi.context import RequestContext
from rpcapi.endpoint import expose
from rpcapi.objects.request_schema import check_spec
from rpcapi.resources import names, vocabulary
from rpcapi.resources.inventory import MAX_AMOUNT
from rpcapi.validation.instances import check_uuids
from rpcapi.validation.moves import read_destination, read_move

LOG = log.getLogger(__name__)


class ComputeEndpoint:
    """Endpoint that queues messages and returns at once; the saga reports outcomes to the conductor.

    Raises InvalidRequest for a whole message. Queries do not wait for queued messages.
    """

    target = messaging.Target(version=ComputeAPI.VERSION)

    def __init__(self, host: ServiceHost, partition: str, max_instances: int) -> None:
        self._host = host
        self._partition = partition
        self._max_instances = max_instances

    @expose
    def build_instances(self, ctxt: RequestContext, request: objects.BuildRequest) -> None:
        self._build(ctxt, request)

    def _build(self, ctxt: RequestContext, request: objects.BuildRequest, *, is_incoming: bool = False) -> None:
        check_spec(request.spec)
        check_uuids(request.uuids, self._max_instances)
        _check_attempts(request.attempts)
        _check_allocations(request.allocations)
        self._check_partition(request.partition)
        self._host.build(ctxt, _intents(ctxt, request, is_incoming), BuildRequirements.from_spec(request.spec))

    @expose
    def check_migrations(self, ctxt: RequestContext, checks: objects.MigrationChecks) -> objects.MigrationChecks:
        check_uuids(checks.instances, self._max_instances)
        if not checks.facts:
            return check_source(self._host.guest_manager, checks.instances)
        if len(checks.names) != len(checks.facts):
            raise errors.InvalidRequest(why="a check at the destination must have names and facts")
        return check_destination(self._host.guest_manager, checks)

    @expose
    def prepare_incoming(self, ctxt: RequestContext, request: objects.BuildRequest) -> None:
        check_uuids([(move or {}).get("migration") for move in request.moves], self._max_instances, "migration")
        self._build(ctxt, request, is_incoming=True)

    @expose
    def copy_guests(self, ctxt: RequestContext, copies: objects.GuestCopies) -> None:
        self._check_messages(copies)
        check_uuids(copies.migrations, self._max_instances, "migration")
        self._host.submit(ctxt, apply_copies, _copies(copies))

    @expose
    def list_copies(self, ctxt: RequestContext, migrations: list[str]) -> objects.CopyPage:
        check_uuids(migrations, self._max_instances)
        return list_copies(self._host.guest_manager, migrations)

    @expose
    def terminate_instances(self, ctxt: RequestContext, refs: objects.ClaimRefs) -> None:
        check_uuids(refs.consumers, self._max_instances)
        _check_attempts(refs.attempts)
        self._host.submit(ctxt, terminate, [AttemptRef(*pair) for pair in refs.pairs()])

    @expose
    def change_guests(self, ctxt: RequestContext, transitions: objects.GuestTransitions) -> None:
        self._check_messages(transitions)
        self._host.submit(ctxt, apply_transitions, _transitions(transitions))

    @expose
    def operate_guests(self, ctxt: RequestContext, operations: objects.GuestOperations) -> None:
        self._check_messages(operations)
        self._host.submit(ctxt, apply_operations, _operations(operations))

    @expose
    def list_guests(self, ctxt: RequestContext, marker: str | None = None, limit: int = 1000) -> objects.GuestPage:
        if limit < 1:
            raise errors.InvalidRequest(why=f"limit must be a positive integer, got {limit}")
        return list_guests(self._host.guest_manager, marker, limit)

    @expose
    def list_owners(self, ctxt: RequestContext, uuids: list[str]) -> objects.GuestOwners:
        check_uuids(uuids, self._max_instances)
        return list_owners(self._host.guest_manager, uuids)

    @expose
    def audit(self, ctxt: RequestContext, partition: str, epoch: int) -> None:
        if partition == self._partition:
            self._host.audits.request(epoch)

    def _check_messages(
        self, messages: objects.GuestCopies | objects.GuestTransitions | objects.GuestOperations
    ) -> None:
        check_uuids(messages.uuids, self._max_instances)
        _check_attempts(messages.attempts)
        messages.check()
        self._check_partition(messages.partition)

    def _check_partition(self, partition: str) -> None:
        if partition != self._partition:
            raise errors.InvalidRequest(
                why=f"host {self._host.name} is in partition {self._partition!r}, not {partition!r}"
            )

    def _observe(self, method: str, code: str, seconds: float) -> None:
        metrics.MESSAGES.labels(method, code).inc()
        if code != "ok":
            # The sender of a cast never sees the error.
            LOG.warning("Rejected a message for %s of host %s: %s", method, self._host.name, code)


def _operations(request: objects.GuestOperations) -> list[GuestOperation]:
    return [
        GuestOperation(
            AttemptRef(uuid, attempt),
            action,
            number,
            "" if image is None else image.get("id") or image.get("name") or "",
        )
        for uuid, attempt, action, number, image in request.rows("uuids", "attempts", "actions", "numbers", "images")
    ]


def _transitions(request: objects.GuestTransitions) -> list[GuestTransition]:
    rows = request.rows("uuids", "attempts", "actions", "numbers", "moves")
    return [
        GuestTransition(AttemptRef(uuid, attempt), action, number, read_move(move))
        for uuid, attempt, action, number, move in rows
    ]


def _check_attempts(attempts: list[int]) -> None:
    if any(not 1 <= number <= MAX_AMOUNT for number in attempts):
        raise errors.InvalidRequest(why=f"attempts must be numbers from 1 to {MAX_AMOUNT}")


def _check_allocations(allocations: Sequence[Any]) -> None:
    """Raise InvalidRequest unless each item is None or valid in a claim.

    An invalid item would make the store reject every audit of the host.
    """
    for provider_amounts in allocations:
        for provider, amounts in (provider_amounts or {}).items():
            names.canonical(provider)
            if not isinstance(amounts, Mapping) or not amounts:
                raise errors.InvalidRequest(why=f"the allocation at {provider} must be amounts by resource class")
            for resource_class, amount in amounts.items():
                vocabulary.check_resource_class(resource_class)
                if not isinstance(amount, int) or isinstance(amount, bool) or not 1 <= amount <= MAX_AMOUNT:
                    raise errors.InvalidRequest(
                        why=f"the allocation of {resource_class} at {provider} must be an integer, 1 to {MAX_AMOUNT}"
                    )


def _copies(request: objects.GuestCopies) -> list[GuestCopy]:
    columns = (request.uuids, request.attempts, request.migrations, request.numbers, request.actions)
    rows = zip(*columns, request.destinations, request.with_disk, request.post_copy, strict=True)
    return [GuestCopy(AttemptRef(uuid, attempt), *values) for uuid, attempt, *values in rows]


def _intents(ctxt: RequestContext, request: objects.BuildRequest, is_incoming: bool) -> list[Attempt]:
    spec = request.spec
    owner = {
        "type": spec.consumer_type,
        "project": request.project_id,
        "user": request.user_id,
        "request_id": ctxt.request_id,
        "flavor": spec.flavor,
        "group_id": spec.group_id,
        "group_policy": spec.group_policy,
        "group_max_per_host": spec.group_max_per_host,
    }
    now = wall_ms()
    resources = dict(spec.resources)
    powered_off = set(request.powered_off)
    return [
        Attempt(
            uuid=uuid,
            attempt=attempt,
            stage=Stage.INTENT,
            at_ms=now,
            request_id=ctxt.request_id,
            name=name,
            allocations={name: resources} if allocations is None else allocations,
            owner=owner,
            starts_off=uuid in powered_off,
            is_incoming=is_incoming,
        ).to_end_of_move(read_destination(move))
        for uuid, attempt, name, allocations, move in request.rows("uuids", "attempts", "names", "allocations", "moves")
    ]
