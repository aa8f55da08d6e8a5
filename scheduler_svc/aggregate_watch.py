# SPDX-License-Identifier: Apache-2.0
"""Tells operators what in aggregates' metadata is not understood: decisions go on with what is configured."""

from collections.abc import Callable, Iterable

from oslo_log import log

from scheduler_svc.table.table import HostTable
from scheduler_svc.weighers import multipliers

LOG = log.getLogger(__name__)


class AggregateWatch:
    """Warns of each multiplier that is no number, once as long as it stays."""

    def __init__(self, table: Callable[[], HostTable], options: Iterable[str]) -> None:
        self._table = table
        self._options = tuple(options)
        self._told: frozenset[str] = frozenset()

    def look(self) -> None:
        """Look at all aggregates; apart from decisions, which wait while it copies what is said of them."""
        with self._table().reading() as view:
            metadata = {name: view.aggregates.metadata(name) for name in view.aggregates.names}
        found = frozenset(multipliers.complaints(metadata, self._options))
        for each in sorted(found - self._told):
            LOG.warning("%s", each)
        self._told = found
