# SPDX-License-Identifier: Apache-2.0
"""Columns and encodings of a partition's data."""

from typing import Any

from sqlalchemy import Column, Table

from scheduler_svc.store.codecs import CLAIM, ENDS, JSON, PIN, PLAIN, PROVIDER, REPORT, SERVICE, STATE, Codec
from scheduler_svc.store.sql.tables import (
    CONSUMERS,
    GROUPS,
    HOLDERS,
    PINS,
    PROVIDER_NAMES,
    PROVIDERS,
    SERVICES,
    STATES,
    TALLIES,
)

# Column and codec of each mapping of PartitionStorage, and of ``awaited``.
VIEWS: dict[str, tuple[Column[Any], Codec]] = {
    "claims": (CONSUMERS.c.claim, CLAIM),
    "deadlines": (CONSUMERS.c.deadline_ms, PLAIN),
    "ended": (CONSUMERS.c.ends, ENDS),
    "ended_at": (CONSUMERS.c.ended_ms, PLAIN),
    "unverified": (CONSUMERS.c.unverified, PLAIN),
    "sources": (CONSUMERS.c.source, PLAIN),
    "holders": (HOLDERS.c.present, PLAIN),
    "tallies": (TALLIES.c.tally, JSON),
    "groups": (GROUPS.c.hosts, JSON),
    "providers": (PROVIDERS.c.document, PROVIDER),
    "capacity": (PROVIDERS.c.capacity, JSON),
    "used": (PROVIDERS.c.used, JSON),
    "changed": (PROVIDERS.c.changed, PLAIN),
    "eligible": (PROVIDERS.c.eligible, PLAIN),
    "excess": (PROVIDERS.c.excess, JSON),
    "generations": (PROVIDERS.c.generation, PLAIN),
    "children": (PROVIDERS.c.children, JSON),
    "provider_names": (PROVIDER_NAMES.c.provider, PLAIN),
    "services": (SERVICES.c.document, SERVICE),
    "reports": (SERVICES.c.report, REPORT),
    "beats": (SERVICES.c.beat_ms, PLAIN),
    "alive": (SERVICES.c.alive, PLAIN),
    "opened": (SERVICES.c.opened, PLAIN),
    "awaited": (SERVICES.c.awaited, PLAIN),
    "clock_offsets": (SERVICES.c.clock_offset, JSON),
    "pins": (PINS.c.pinned, PIN),
    "states": (STATES.c.document, STATE),
}
# {table: {column: codec}}, first the tables in the order of PartitionStorage.prefetch's arguments.
CODECS: dict[Table, dict[str, Codec]] = {
    table: {str(column.key): codec for column, codec in VIEWS.values() if column.table is table}
    for table in (CONSUMERS, PROVIDERS, SERVICES, GROUPS, PROVIDER_NAMES, HOLDERS, TALLIES, PINS, STATES)
}
