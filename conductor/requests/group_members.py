# SPDX-License-Identifier: Apache-2.0
"""Affinity groups whose members move together in one call."""

from collections import defaultdict
from collections.abc import Mapping

from conductor.saga.step_context import load_spec
from conductor.store.records import BuildRequestRecord, InstanceRecord
from rpcapi import errors
from rpcapi.resources.claims import GroupPolicy

MAX_MEMBERS = 100  # limit of a group move: each migration names all members


def moving_groups(
    records: Mapping[str, InstanceRecord], requests: Mapping[str, BuildRequestRecord], migrations: Mapping[str, str]
) -> dict[str, list[str]]:
    """Return {instance: migrations of its group} for instances that move with their affinity group.

    ``migrations`` is {instance: migration uuid} in call order. Raises InvalidRequest for more than MAX_MEMBERS.
    """
    specs = {key: load_spec(request.spec) for key, request in requests.items()}
    members = defaultdict(list)
    for instance in migrations:
        # A resize never changes the group, so the group of the request is valid.
        spec = specs.get(records[instance].request) if instance in records else None
        if spec is not None and spec.group_policy == GroupPolicy.AFFINITY:
            members[spec.group_id].append(instance)
    groups: dict[str, list[str]] = {}
    for group_id, instances in members.items():
        if len(instances) > MAX_MEMBERS:
            why = f"at most {MAX_MEMBERS} members of affinity group {group_id} can move together, got {len(instances)}"
            raise errors.InvalidRequest(why=why)
        if len(instances) > 1:
            together = [migrations[instance] for instance in instances]
            groups |= dict.fromkeys(instances, together)
    return groups
