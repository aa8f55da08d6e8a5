# SPDX-License-Identifier: Apache-2.0
"""Objects from the bus as the domain's records."""

from collections.abc import Mapping, Sequence
from typing import Any

from rpcapi import errors, objects
from rpcapi.context import RequestContext
from rpcapi.model import names
from rpcapi.model.claims import ClaimState, GroupPolicy
from rpcapi.model.groups import RequestGroup, alternatives
from rpcapi.model.request import check_spec
from scheduler_svc.request import Request
from scheduler_svc.store.records import Candidate, Group, Intent, Ref, Running

_OWNER = ("type", "project", "user", "request_id")


def request(ctxt: RequestContext, spec: objects.RequestSpec) -> Request:
    """Return what is asked for; raises what check_spec raises."""
    check_spec(spec)
    return Request(
        id=ctxt.request_id,
        resources=dict(spec.resources),
        required_traits=tuple(spec.required_traits),
        forbidden_traits=tuple(spec.forbidden_traits),
        availability_zone=spec.availability_zone,
        ignore_hosts=tuple(map(names.canonical, spec.ignore_hosts)),
        force_hosts=tuple(map(names.canonical, spec.force_hosts)),
        hints=spec.hints,
        group=group(spec.group_id, spec.group_policy, spec.group_max_per_host),
        any_traits=alternatives(spec.any_traits),
        member_of=alternatives(spec.member_of),
        forbidden_aggregates=tuple(spec.forbidden_aggregates),
        in_tree=spec.in_tree,
        groups=tuple(RequestGroup.from_dict(suffix, told) for suffix, told in spec.groups.items()),
        groups_policy=spec.groups_policy,
        root_required=tuple(spec.root_required),
        root_forbidden=tuple(spec.root_forbidden),
        same_subtree=alternatives(spec.same_subtree),
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


def group(group_id: Any, policy: Any, most: Any) -> Group | None:
    """Return the server group's policy, or None where there is no group; raises MalformedObject."""
    if group_id is None:
        return None
    try:
        return Group(names.canonical(group_id), GroupPolicy(policy), int(most))
    except (ValueError, TypeError) as error:
        raise errors.MalformedObject(name="server group", why=str(error)) from error


def intents(asked: objects.ClaimIntents) -> list[Intent]:
    """Return the wishes; a candidate is a resource name."""
    rows = zip(asked.consumers, asked.attempts, asked.candidates, asked.replaces, strict=True)
    return [
        Intent(consumer, attempt, [Candidate(names.canonical(name)) for name in candidates], replaces)
        for consumer, attempt, candidates, replaces in rows
    ]


def refs(given: objects.ClaimRefs) -> list[Ref]:
    """Return the claims that are meant."""
    return [Ref(consumer, attempt) for consumer, attempt in given.pairs()]


def running(report: objects.AuditReport) -> list[Running]:
    """Return what an audit reports, one record a claim."""
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


def _running(consumer: str, attempt: int, state: str, name: str, holds: Sequence[Mapping[str, Any]]) -> Running:
    allocations, owner = holds
    if state not in (ClaimState.PREPARED, ClaimState.CONFIRMED):
        raise errors.MalformedObject(name="AuditReport", why=f"{state[:40]!r} is no state of what runs on a host")
    missing = [key for key in _OWNER if not isinstance(owner.get(key), str)]
    if missing:
        raise errors.MalformedObject(name="AuditReport", why=f"the owner of {consumer} lacks {', '.join(missing)}")
    return Running(
        consumer=consumer,
        attempt=attempt,
        confirmed=state == ClaimState.CONFIRMED,
        host=names.canonical(name),
        allocations=allocations,
        group=group(owner.get("group_id"), owner.get("group_policy"), owner.get("group_max_per_host", 1)),
        **{key: owner[key] for key in _OWNER},
    )
