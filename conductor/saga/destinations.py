# SPDX-License-Identifier: Apache-2.0
"""Request specs that select a host for an instance that moves or is unshelved."""

from conductor.saga.volume_pools import keep_pools
from conductor.store.migrations import MigrationRecord
from rpcapi import objects
from rpcapi.resources import names
from rpcapi.resources.statuses import MigrationKind
from rpcapi.resources.trees.tree import Allocations


def unshelve_spec(
    spec: objects.RequestSpec, target: str | None, allocations: Allocations | None
) -> objects.RequestSpec:
    """Return the spec for an unshelve: volumes stay on their pools, the boot's forced and ignored hosts are dropped."""
    destination = {} if target is None else {"host": target}
    return keep_pools(spec, None, allocations).with_values(
        force_hosts=[], ignore_hosts=[], requested_destination=destination
    )


def destination_spec(spec: objects.RequestSpec, migration: MigrationRecord, partition: str) -> objects.RequestSpec:
    """Return the spec for a destination: volumes stay on their pools, the boot's forced and ignored hosts are dropped.

    A cold migration must leave its node, a live migration or evacuation its host; a resize may stay.
    """
    spec = keep_pools(spec, migration.source_host, migration.source_allocations)
    ignored = {
        MigrationKind.MIGRATION: [migration.source_host],
        MigrationKind.EVACUATION: [names.host_of(migration.source_host)],
    }.get(migration.kind, [])
    if migration.kind == MigrationKind.LIVE:
        ignored = [names.host_of(migration.source_host)]
    if migration.kind == MigrationKind.LIVE or migration.group:  # try each destination once
        ignored = [*ignored, *dict.fromkeys(entry["host"] for entry in migration.history if entry["host"])]
    return spec.with_values(
        force_hosts=[],
        ignore_hosts=ignored,
        requested_destination={
            "partition": migration.source_partition or partition,
            "allow_cross_cell_move": migration.allow_cross_cell,
            **({} if migration.target is None else {"host": migration.target}),
        },
    )
