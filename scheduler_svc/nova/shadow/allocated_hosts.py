# SPDX-License-Identifier: Apache-2.0
"""Hosts on which consumers have allocations."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

import numpy as np

from scheduler_svc.core.table.table import HostTable
from scheduler_svc.core.table.view import View
from scheduler_svc.nova.bus import hosts
from scheduler_svc.nova.shadow.comparison import NamedRow
from scheduler_svc.store.interface import Store
from scheduler_svc.store.validation import MAX_REFS


class AllocatedHosts:
    """Finder of the Nova compute nodes in whose provider trees a consumer has allocations. Thread-safe."""

    def __init__(self, store: Store, table: Callable[[], HostTable]) -> None:
        self._store = store
        self._table = table

    def read(self, consumers: Sequence[str]) -> Mapping[str, Collection[str]]:
        """Return {consumer: table names of its hosts} for consumers with allocations. Raises StoreUnavailable."""
        pages = (consumers[start : start + MAX_REFS] for start in range(0, len(consumers), MAX_REFS))
        holders = [consumer for page in pages for consumer in self._store.hosts_of(page)]
        claims = {consumer: self._store.claims(consumer=consumer)[0] for consumer in holders}
        with self._table().reading() as view:
            return {
                consumer: _roots(view, {provider for claim in consumer_claims for provider in claim.allocations})
                for consumer, consumer_claims in claims.items()
            }

    def named_row(self, name: str) -> NamedRow:
        """Return a host's row and its name in Nova: SERVICE_HOST, or SERVICE_HOST/NODE if they differ."""
        with self._table().reading() as view:
            host = hosts.find(view, name)
        if host is None:
            return NamedRow(None, name)
        same = host.node == host.service_host
        return NamedRow(host.row, host.service_host if same else f"{host.service_host}/{host.node}")

    def on_service_hosts(self, names: Iterable[str], service_hosts: Collection[str]) -> set[str]:
        """Return the hosts whose service host, or whose node, has one of the names ``service_hosts``."""
        with self._table().reading() as view:
            matches = [(name, hosts.find(view, name)) for name in names]
        return {
            name
            for name, host in matches
            if host is not None and (host.service_host in service_hosts or host.node in service_hosts)
        }


def _roots(view: View, providers: Iterable[str]) -> set[str]:
    names = set()
    for provider in providers:
        if hosts.find(view, provider) is not None:
            names.add(provider)
        elif view.row(provider) is None:
            names.update(view.names(np.flatnonzero(view.trees.containing(provider))))
    return names
