# SPDX-License-Identifier: Apache-2.0
"""Copies of a whole partition, for replicas and for verification."""

import json
from collections.abc import Iterable, Sequence
from typing import Any

from sqlalchemy import Connection, select
from sqlalchemy.sql.elements import ColumnElement

from scheduler_svc.core.records import Snapshot
from scheduler_svc.store import documents, tallies
from scheduler_svc.store.providers.changes import API, is_api_owned
from scheduler_svc.store.sql import states
from scheduler_svc.store.sql.tables import CONSUMERS, GROUPS, HOLDERS, PROVIDER_NAMES, PROVIDERS, SERVICES, TALLIES
from scheduler_svc.store.verification import StoreDump


def snapshot(connection: Connection, partition: str, as_of: tuple[int, int], namespaces: Iterable[str]) -> Snapshot:
    """Return the state that a replica needs, ``as_of`` (epoch, position)."""
    providers = _read(connection, partition, PROVIDERS.c.name, PROVIDERS.c.document, PROVIDERS.c.used)
    services = _read(connection, partition, SERVICES.c.name, SERVICES.c.document, SERVICES.c.alive, SERVICES.c.opened)
    return Snapshot(
        *as_of,
        providers={name: documents.decode(text, "provider") for name, text, _used in providers if text is not None},
        used={name: json.loads(used) for name, _text, used in providers if used is not None},
        services={name: documents.decode(text, "service") for name, text, _a, _o in services if text is not None},
        alive={name: alive for name, _text, alive, _opened in services if alive is not None},
        opened={name: max(0, opened) for name, _text, _alive, opened in services if opened is not None},
        states={namespace: states.read_all(connection, partition, namespace) for namespace in namespaces},
    )


def dump(connection: Connection, partition: str, as_of: tuple[int, int], lead_ms: int) -> StoreDump:
    """Return the data that ``verify`` compares, ``as_of`` (epoch, position); see PartitionState.lead_ms."""
    by_key = {name: json.loads(text) for name, text in _read(connection, partition, TALLIES.c.name, TALLIES.c.tally)}
    sums = tallies.flat(by_key)
    api = documents.encode({"owner": API})[1:-1]
    query = select(PROVIDERS.c.name, PROVIDERS.c.document).where(
        PROVIDERS.c.partition == partition, PROVIDERS.c.document.contains(api, autoescape=True)
    )
    decoded = {name: documents.decode(text, "provider") for name, text in connection.execute(query)}
    columns = (CONSUMERS.c.name, CONSUMERS.c.claim, CONSUMERS.c.deadline_ms, CONSUMERS.c.place, CONSUMERS.c.unverified)
    consumers = _read(connection, partition, *columns)
    providers = _read(connection, partition, *(PROVIDERS.c[key] for key in ("name", "capacity", "used", "excess")))
    children = _read(connection, partition, PROVIDERS.c.name, PROVIDERS.c.children)
    services = _read(connection, partition, SERVICES.c.name, SERVICES.c.opened, SERVICES.c.awaited)
    places = (place.partition("|") for _name, _text, _at, place, _number in consumers if place is not None)
    return StoreDump(
        *as_of,
        claims=[documents.decode_claim(text) for _name, text, _at, _place, _number in consumers if text is not None],
        capacity={name: json.loads(text) for name, text, _used, _excess in providers if text is not None},
        used={name: json.loads(used) for name, _text, used, _excess in providers if used is not None},
        groups={name: json.loads(hosts) for name, hosts in _read(connection, partition, GROUPS.c.name, GROUPS.c.hosts)},
        deadlines={name: at for name, _text, at, _place, _number in consumers if at is not None},
        unverified={name: number for name, _text, _at, _place, number in consumers if number is not None},
        sources={
            name: migration
            for name, migration in _read(connection, partition, CONSUMERS.c.name, CONSUMERS.c.source)
            if migration is not None
        },
        holders=[name for name, _present in _read(connection, partition, HOLDERS.c.name, HOLDERS.c.present)],
        tallies=sums,
        tallied=sums.keys(),
        provider_names=dict(map(tuple, _read(connection, partition, PROVIDER_NAMES.c.name, PROVIDER_NAMES.c.provider))),
        children={(name, child) for name, text in children if text is not None for child in json.loads(text)},
        api_providers={name: document for name, document in decoded.items() if is_api_owned(document)},
        by_host={(node, consumer) for node, _bar, consumer in places},
        opened={name: opened for name, opened, _awaited in services if opened is not None},
        awaited=[name for name, _opened, awaited in services if awaited],
        excess={
            (name, resource_class): since + lead_ms
            for name, _text, _used, over in providers
            if over is not None
            for resource_class, since in json.loads(over).items()
        },
    )


def _read(connection: Connection, partition: str, *columns: ColumnElement[Any]) -> Sequence[Any]:
    first: Any = columns[0]
    return connection.execute(select(*columns).where(first.table.c.partition == partition)).all()
