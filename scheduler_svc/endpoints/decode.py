# SPDX-License-Identifier: Apache-2.0
"""Conversion of objects from the bus to domain records."""

from collections.abc import Mapping, Sequence
from typing import Any

from rpcapi import errors, objects
from rpcapi.context import RequestContext
from rpcapi.objects.request_validation import check_spec
from rpcapi.resources import names
from rpcapi.resources.claims import ClaimState, GroupPolicy
from rpcapi.resources.groups import RequestGroup, freeze_alternatives
from scheduler_svc.core.records import Candidate, ClaimGroup, ClaimRef, Intent
from scheduler_svc.core.request import SchedulingRequest
from scheduler_svc.store.records import RunningClaim

_OWNER = ("type", "project", "user", "request_id")


def request(ctxt: RequestContext, spec: objects.RequestSpec) -> SchedulingRequest:
    """Return the scheduling request of a spec; raises what check_spec raises."""
    check_spec(spec)
    return SchedulingRequest(
        id=ctxt.request_id,
        resources=dict(spec.resources),
        required_traits=tuple(spec.required_traits),
        forbidden_traits=tuple(spec.forbidden_traits),
        availability_zone=spec.availability_zone,
        ignore_hosts=tuple(map(names.canonical, spec.ignore_hosts)),
        force_hosts=tuple(map(names.canonical, spec.force_hosts)),
        hints=spec.hints,
        group=group(spec.group_id, spec.group_policy, spec.group_max_per_host),
        any_traits=freeze_alternatives(spec.any_traits),
        member_of=freeze_alternatives(spec.member_of),
        forbidden_aggregates=tuple(spec.forbidden_aggregates),
        in_tree=spec.in_tree,
        groups=tuple(RequestGroup.from_dict(suffix, values) for suffix, values in spec.groups.items()),
        groups_policy=spec.groups_policy,
        root_required=tuple(spec.root_required),
        root_forbidden=tuple(spec.root_forbidden),
        same_subtree=freeze_alternatives(spec.same_subtree),
        numa=spec.numa,
        image=spec.image,
        extra_specs=spec.extra_specs,
        volumes=tuple(spec.volumes),
        ports=tuple(spec.ports),
        flavor=spec.flavor,
        service=spec.service,
        driver=spec.driver,
        project=ctxt.project_id or "",
        user=ctxt.user_id or "",
    )


def group(group_id: Any, policy: Any, max_per_host: Any) -> ClaimGroup | None:
    """Return the server group, or None without one; raises MalformedObject."""
    if group_id is None:
        return None
    try:
        return ClaimGroup(names.canonical(group_id), GroupPolicy(policy), int(max_per_host))
    except (ValueError, TypeError) as error:
        raise errors.MalformedObject(name="server group", why=str(error)) from error


def intents(claim_intents: objects.ClaimIntents) -> list[Intent]:
    """Return the intents; their candidates are resource names."""
    rows = zip(
        claim_intents.consumers, claim_intents.attempts, claim_intents.candidates, claim_intents.replaces, strict=True
    )
    return [
        Intent(consumer, attempt, [Candidate(names.canonical(name)) for name in candidates], replaces)
        for consumer, attempt, candidates, replaces in rows
    ]


def refs(claim_refs: objects.ClaimRefs) -> list[ClaimRef]:
    """Return the claim references."""
    return [ClaimRef(consumer, attempt) for consumer, attempt in claim_refs.pairs()]


def running(report: objects.AuditReport) -> list[RunningClaim]:
    """Return the running claims of an audit report."""
    return [
        _running(consumer, attempt, state, name, holds)
        for consumer, attempt, state, name, *holds in zip(
            report.consumers,
            report.attempts,
            report.states,
            report.names,
            report.allocations,
            report.owners,
            strict=True,
        )
    ]


def _running(consumer: str, attempt: int, state: str, name: str, holds: Sequence[Mapping[str, Any]]) -> RunningClaim:
    allocations, owner = holds
    if state not in (ClaimState.PREPARED, ClaimState.CONFIRMED):
        raise errors.MalformedObject(name="AuditReport", why=f"unknown claim state {state[:40]!r}")
    missing = [key for key in _OWNER if not isinstance(owner.get(key), str)]
    if missing:
        raise errors.MalformedObject(name="AuditReport", why=f"the owner of {consumer} lacks {', '.join(missing)}")
    return RunningClaim(
        consumer=consumer,
        attempt=attempt,
        confirmed=state == ClaimState.CONFIRMED,
        host=names.canonical(name),
        allocations=allocations,
        group=group(owner.get("group_id"), owner.get("group_policy"), owner.get("group_max_per_host", 1)),
        **{key: owner[key] for key in _OWNER},
    )
