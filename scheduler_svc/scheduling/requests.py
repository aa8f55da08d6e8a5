# SPDX-License-Identifier: Apache-2.0
"""Conversion of request specs to scheduling requests."""

from collections.abc import Mapping
from typing import Any

from rpcapi import errors, objects
from rpcapi.objects.request_schema import check_spec
from rpcapi.resources import names
from rpcapi.resources.claims import GroupPolicy
from rpcapi.resources.groups import RequestGroup, freeze_alternatives
from scheduler_svc.core.records import ClaimGroup
from scheduler_svc.core.request import SchedulingRequest


def from_spec(spec: objects.RequestSpec, request_id: str, project: str, user: str) -> SchedulingRequest:
    """Convert a spec. Raises the errors of check_spec."""
    check_spec(spec)
    return SchedulingRequest(
        id=request_id,
        resources=dict(spec.resources),
        required_traits=tuple(spec.required_traits),
        forbidden_traits=tuple(spec.forbidden_traits),
        availability_zone=spec.availability_zone,
        ignore_hosts=tuple(map(names.canonical, spec.ignore_hosts)),
        force_hosts=_forced_hosts(spec),
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
        project=project,
        user=user,
        source_partition=spec.requested_destination.get("partition"),
        stays_in_partition=_stays_in_partition(spec.requested_destination),
    )


def _forced_hosts(spec: objects.RequestSpec) -> tuple[str, ...]:
    host = spec.requested_destination.get("host")
    forced = [names.canonical(name) for name in spec.force_hosts]
    return tuple(forced) if host is None else (names.canonical(host),)


def _stays_in_partition(destination: Mapping[str, Any]) -> bool:
    return destination.get("partition") is not None and not destination.get("allow_cross_cell_move", False)


def group(group_id: Any, policy: Any, max_per_host: Any) -> ClaimGroup | None:
    """Return the server group or None. Raises MalformedObject."""
    if group_id is None:
        return None
    try:
        return ClaimGroup(names.canonical(group_id), GroupPolicy(policy), int(max_per_host))
    except (ValueError, TypeError) as error:
        raise errors.MalformedObject(name="server group", why=str(error)) from error
