# SPDX-License-Identifier: Apache-2.0
"""Which instances of a call are members of the same affinity group, and so move together."""

from collections import defaultdict
from collections.abc import Mapping

from conductor.saga.saga_pass import load_spec
from conductor.store.records import BuildRequestRecord, InstanceRecord
from rpcapi import errors
from rpcapi.resources.claims import GroupPolicy

MAX_MEMBERS = 100  # of a group that moves: each migration names all of them


def moving_groups(
    records: Mapping[str, InstanceRecord], requests: Mapping[str, BuildRequestRecord], migrations: Mapping[str, str]
) -> dict[str, list[str]]:
    """Return for each instance that moves with others of its affinity group the uuids of their migrations.

    ``migrations`` maps the instances of the call to the uuids of their migrations, in the order of the call. Raises
    InvalidRequest for a group of more than MAX_MEMBERS.
    """
    specs = {key: load_spec(request.spec) for key, request in requests.items()}
    members = defaultdict(list)
    for instance in migrations:
        # A resize changes no group, so that the request of an instance has its group.
        spec = specs.get(records[instance].request) if instance in records else None
        if spec is not None and spec.group_policy == GroupPolicy.AFFINITY:
            members[spec.group_id].append(instance)
    groups: dict[str, list[str]] = {}
    for group_id, instances in members.items():
        if len(instances) > MAX_MEMBERS:
            why = f"at most {MAX_MEMBERS} members of an affinity group can move together, got {len(instances)}"
            raise errors.InvalidRequest(why=f"{why} of {group_id}")
        if len(instances) > 1:
            together = [migrations[instance] for instance in instances]
            groups |= dict.fromkeys(instances, together)
    return groups
