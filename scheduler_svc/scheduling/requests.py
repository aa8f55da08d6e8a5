# SPDX-License-Identifier: Apache-2.0
"""Conversion of request specs to scheduling requests."""

from dataclasses import fields

from rpcapi import objects
from rpcapi.objects.request_schema import canonical, check_spec
from rpcapi.resources.claims import GroupPolicy
from rpcapi.resources.groups import RequestGroup, freeze
from rpcapi.validation.text import invalid_spec
from scheduler_svc.core.records import ClaimGroup
from scheduler_svc.core.request import SchedulingRequest

# Fields with the same name, meaning and default in both classes.
COPIED = {field.name for field in fields(SchedulingRequest)}.intersection(objects.RequestSpec.fields) - {"groups"}


def from_spec(spec: objects.RequestSpec, request_id: str, project: str, user: str) -> SchedulingRequest:
    """Convert a spec. Raises the errors of check_spec."""
    check_spec(spec)
    spec = canonical(spec)
    values = {name: freeze(value) for name, value in spec.values_set().items() if name in COPIED}
    destination = spec.requested_destination
    if destination.get("host") is not None:
        values["force_hosts"] = (destination["host"],)
    if spec.group_id is not None:
        if spec.group_policy is None:
            raise invalid_spec(f"the policy of server group {spec.group_id} is missing")
        values["group"] = ClaimGroup(spec.group_id, GroupPolicy(spec.group_policy), spec.group_max_per_host or 1)
    partition = destination.get("partition")
    return SchedulingRequest(
        id=request_id,
        groups=tuple(RequestGroup.from_dict(suffix, group) for suffix, group in spec.groups.items()),
        project=project,
        user=user,
        source_partition=partition,
        stays_in_partition=partition is not None and not destination.get("allow_cross_cell_move", False),
        **values,
    )
