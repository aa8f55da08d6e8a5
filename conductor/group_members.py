# SPDX-License-Identifier: Apache-2.0
"""Which instances of a call are members of the same affinity group, and so move together."""

from collections import defaultdict
from collections.abc import Iterable, Mapping

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
    ids = _group_ids(records.values(), requests)
    members = defaultdict(list)
    for instance in migrations:
        if ids.get(instance) is not None:
            members[ids[instance]].append(instance)
    groups: dict[str, list[str]] = {}
    for group_id, instances in members.items():
        if len(instances) > MAX_MEMBERS:
            why = f"at most {MAX_MEMBERS} members of an affinity group can move together, got {len(instances)}"
            raise errors.InvalidRequest(why=f"{why} of {group_id}")
        if len(instances) > 1:
            together = [migrations[instance] for instance in instances]
            groups |= dict.fromkeys(instances, together)
    return groups


def _group_ids(records: Iterable[InstanceRecord], requests: Mapping[str, BuildRequestRecord]) -> dict[str, str | None]:
    """Return the affinity group of each instance; a resize changes no group, so that its request tells it."""
    of_request: dict[str, str | None] = {}
    for key, request in requests.items():
        spec = load_spec(request.spec)
        of_request[key] = spec.group_id if spec.group_policy == GroupPolicy.AFFINITY else None
    return {record.uuid: of_request.get(record.request) for record in records}
