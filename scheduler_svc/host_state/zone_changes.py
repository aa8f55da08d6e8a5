# SPDX-License-Identifier: Apache-2.0
"""Check of aggregate changes against the servers in availability zones, as in Nova.

A server that requested a zone can move only to hosts of that zone. Claims made between check and write are missed.
"""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from rpcapi.resources import names
from rpcapi.validation.text import join_names
from scheduler_svc.core.records import Claim
from scheduler_svc.core.table.aggregates import NAMESPACE, ZONE
from scheduler_svc.store import paging
from scheduler_svc.store.interface import Store
from scheduler_svc.store.namespaces import COMPUTE

Document = Mapping[str, Any]
Zones = Mapping[str, Mapping[str, str]]  # {service host, node or other provider: {aggregate: zone}}


def affects_zones(before: Document, after: Document) -> bool:
    return _zone(before) != _zone(after) or (_zone(after) is not None and before.get("hosts") != after.get("hosts"))


def conflicts(store: Store, changes: Mapping[str, Document]) -> list[str]:
    """Return a reason for each second zone of hosts, and each zone taken from servers, by these new documents.

    An empty document deletes its aggregate. Servers are live claims of ``store``, whatever zone they requested.
    """
    documents = {name: document for name, _version, document in paging.entries(partial(store.list_state, NAMESPACE))}
    before, after = _zones_of(documents), _zones_of({**documents, **changes})
    changed = sorted(name for name in before.keys() | after.keys() if before.get(name) != after.get(name))
    return [*_second_zones(changed, before, after), *_losses(store, changed, before, after)]


def _second_zones(changed: Collection[str], before: Zones, after: Zones) -> Iterator[str]:
    hosts: dict[str, set[str]] = defaultdict(set)  # {zones: hosts}
    changed_names = set(changed)
    for name in after:
        if changed_names.isdisjoint((name, names.host_of(name))):
            continue
        old, new = _join(name, before), _join(name, after)
        added = sorted(set(new.values()) - set(old.values()))
        if added and len(set(new.values())) > 1:
            aggregate, zone = next(item for item in sorted(new.items()) if item[1] != added[0])
            hosts[f"zone {added[0]!r} and, by aggregate {aggregate!r}, in zone {zone!r}"].add(name)
    for zones, members in sorted(hosts.items()):
        yield f"{'host' if len(members) == 1 else 'hosts'} {join_names(sorted(members))} would be in {zones}"


def _losses(store: Store, changed: Sequence[str], before: Zones, after: Zones) -> Iterator[str]:
    losses: dict[str, Counter[str]] = defaultdict(Counter)  # {zone: {node: servers}}
    for name in changed:
        for node, count in Counter(claim.host for claim in _claims(store, name)).items():
            reported = store.find_state(COMPUTE, node)[1].get(ZONE)
            for zone in _effective(node, before, reported) - _effective(node, after, reported):
                losses[zone][node] = count
    for zone, nodes in sorted(losses.items()):
        count = sum(nodes.values())
        servers = "1 server" if count == 1 else f"{count} servers"
        yield (
            f"zone {zone!r} is taken from {join_names(sorted(nodes))} with {servers}: servers that requested it keep "
            "running, but cannot move, or be evacuated or unshelved, until other hosts have the zone"
        )


def _claims(store: Store, host: str) -> Iterator[Claim]:
    return paging.entries(lambda marker: store.claims(host=host, marker=marker))


def _zones_of(documents: Mapping[str, Document]) -> Zones:
    zones: dict[str, dict[str, str]] = defaultdict(dict)
    for aggregate, document in documents.items():
        zone = _zone(document)
        for name in document.get("hosts", ()) if zone is not None else ():
            zones[name][aggregate] = zone
    return zones


def _zone(document: Document) -> Any:
    return document.get("metadata", {}).get(ZONE)


def _join(name: str, zones: Zones) -> Mapping[str, str]:
    """Return {aggregate: zone} of a host and its service host."""
    return {**zones.get(name, {}), **zones.get(names.host_of(name), {})}


def _effective(node: str, zones: Zones, reported: str | None) -> set[str]:
    """Return a node's zones: from its aggregates, or else the reported zone."""
    return set(_join(node, zones).values()) or ({reported} if reported is not None else set())
