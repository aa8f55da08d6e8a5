# SPDX-License-Identifier: Apache-2.0
"""Allocations according to Nova's own records, for comparison with Placement."""

import json
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import sqlalchemy

from devstack.nova.client import CloudPlacementClient

Allocations = dict[str, dict[str, dict[str, int]]]  # {consumer: {provider: {resource class: amount}}}

# States in which a migration is the consumer of the source's resources.
HOLDING = ("migrating", "pre-migrating", "post-migrating", "finished", "queued", "preparing", "running", "confirming")
# An evacuation keeps this status, and its source the resources, until the source's compute starts again.
EVACUATED = "done"
RESOURCES = "resources:"
# Only Neutron records the resources that ports request.
OF_PORTS = ("NET_BW_EGR_KILOBIT_PER_SEC", "NET_BW_IGR_KILOBIT_PER_SEC")

PROVIDERS = "SELECT hypervisor_hostname, uuid FROM compute_nodes WHERE deleted = 0"
# During a resize across cells, both have the instance and its migrations, which are hidden in one.
INSTANCES = """
SELECT instances.uuid, instances.node, instances.vm_state, instance_extra.flavor
FROM instances JOIN instance_extra ON instance_extra.instance_uuid = instances.uuid
WHERE instances.deleted = 0 AND NOT instances.hidden
"""
MIGRATIONS = """
SELECT uuid, instance_uuid, source_node, status, migration_type FROM migrations
WHERE deleted = 0 AND instance_uuid IN (SELECT uuid FROM instances WHERE deleted = 0 AND NOT hidden)
"""
BUILDS = """
SELECT instance_actions.instance_uuid, COUNT(*) FROM instance_actions
JOIN instance_actions_events ON instance_actions_events.action_id = instance_actions.id
WHERE instance_actions_events.event = 'compute__do_build_and_run_instance' GROUP BY instance_actions.instance_uuid
"""


def recorded(*databases: str) -> Allocations:
    """Return the allocations of instances and migrations, according to the cells' databases (URLs)."""
    nodes, instances, migrations = (
        [row for database in databases for row in rows(database, query)] for query in (PROVIDERS, INSTANCES, MIGRATIONS)
    )
    providers: dict[str, str] = {node: uuid for node, uuid in nodes}  # noqa: C416 - the rows are no plain tuples
    flavors = {uuid: json.loads(flavor) for uuid, _, _, flavor in instances}
    allocations: Allocations = {
        uuid: {providers[node]: amounts(flavors[uuid]["cur"])}
        for uuid, node, state, _ in instances
        if node is not None and state != "shelved_offloaded"
    }
    for uuid, instance, node, status, kind in migrations:
        flavor = flavors[instance]
        if kind == "evacuation":
            if status == EVACUATED and node in providers:
                allocations.setdefault(instance, {})[providers[node]] = amounts(flavor["cur"])
        elif status in HOLDING:
            allocations[uuid] = {providers[node]: amounts(flavor["old"] or flavor["cur"])}
    return allocations


def build_attempts(database: str, instances: Collection[str]) -> dict[str, int]:
    return {uuid: count for uuid, count in rows(database, BUILDS) if uuid in instances}


def rows(database: str, query: str) -> Sequence[Any]:
    engine = sqlalchemy.create_engine(database)
    try:
        with engine.connect() as connection:
            return connection.execute(sqlalchemy.text(query)).all()
    finally:
        engine.dispose()


def amounts(flavor: Mapping[str, Any]) -> dict[str, int]:
    fields = flavor["nova_object.data"]
    disk = fields["root_gb"] + fields["ephemeral_gb"] + -(-fields["swap"] // 1024)
    resources = {"VCPU": fields["vcpus"], "MEMORY_MB": fields["memory_mb"], "DISK_GB": disk}
    for name, value in fields["extra_specs"].items():
        if name.startswith(RESOURCES):
            resources[name.removeprefix(RESOURCES)] = int(value)
    return {name: amount for name, amount in resources.items() if amount}


def stored(placement: CloudPlacementClient) -> Allocations:
    """Return the allocations by consumer and root provider, without the resources of ports."""
    allocations: Allocations = {}
    for provider in placement.providers():
        for consumer, resources in placement.consumers(provider["uuid"]).items():
            by_root = allocations.setdefault(consumer, {})
            amounts_of_root = by_root.setdefault(provider["root_provider_uuid"], {})
            amounts_of_root |= {
                name: amounts_of_root.get(name, 0) + amount
                for name, amount in resources.items()
                if name not in OF_PORTS
            }
    return {
        consumer: {root: resources for root, resources in by_root.items() if resources}
        for consumer, by_root in allocations.items()
    }


def differences(databases: Sequence[str], placement: CloudPlacementClient) -> list[str]:
    by_records = recorded(*databases)
    by_placement = stored(placement)
    return [
        f"{consumer} holds {by_placement.get(consumer)}, but by Nova's records {by_records.get(consumer)}"
        for consumer in sorted({*by_records, *by_placement})
        if by_records.get(consumer) != by_placement.get(consumer)
    ]
