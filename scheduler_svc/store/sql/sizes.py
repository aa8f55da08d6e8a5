# SPDX-License-Identifier: Apache-2.0
"""Sizes of a partition's collections in SQL: number of rows, and length of their texts."""

from sqlalchemy import ColumnElement, Connection, Table, func, select

from rpcapi.bounds import CollectionSize
from scheduler_svc.store.sql.tables import (
    CONSUMERS,
    DECISIONS,
    GROUPS,
    HOLDERS,
    LOG,
    PINS,
    PROVIDER_NAMES,
    PROVIDERS,
    SERVICES,
    STATES,
    TALLIES,
)

ROW_BYTES = 100  # approximate bytes per row of numbers, header and index entries


def sizes(connection: Connection, partition: str) -> dict[str, CollectionSize]:
    def size(table: Table, *texts: str, condition: ColumnElement[bool] | None = None) -> CollectionSize:
        length = sum((func.coalesce(func.length(table.c[text]), 0) for text in texts), start=ROW_BYTES)
        query = select(func.count(), func.coalesce(func.sum(length), 0)).where(table.c.partition == partition)
        entries, total = connection.execute(query if condition is None else query.where(condition)).one()
        return CollectionSize(int(entries), int(total))

    claims = size(CONSUMERS, "claim", "claim_location", condition=CONSUMERS.c.claim_location.is_not(None))
    groups = size(GROUPS, "hosts")
    unverified = size(CONSUMERS, "name", condition=CONSUMERS.c.unverified.is_not(None))
    sources = size(CONSUMERS, "source", condition=CONSUMERS.c.source.is_not(None))
    beside = (groups, unverified, sources, size(HOLDERS, "name"), size(TALLIES, "name", "tally", "project"))
    providers = size(PROVIDERS, "name", "document", "capacity", "used", "excess", "children")
    names = size(PROVIDER_NAMES, "name", "provider")
    services = size(SERVICES, "name", "document", "report")
    return {
        "claims": CollectionSize(claims.entries, claims.bytes + sum(part.bytes for part in beside)),
        "tombstones": size(CONSUMERS, "name", "ends", condition=CONSUMERS.c.ended_ms.is_not(None)),
        "pins": size(PINS, "name", "pinned"),
        "hosts": CollectionSize(providers.entries, providers.bytes + names.bytes + services.bytes),
        "documents": size(STATES, "name", "document"),
        "log": size(LOG, "payload"),
        "decisions": size(DECISIONS, "request", "document"),
    }
