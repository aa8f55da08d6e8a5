# SPDX-License-Identifier: Apache-2.0
"""Warnings about invalid multipliers in aggregate metadata. Decisions use the configured multipliers instead."""

from collections.abc import Callable, Iterable

from oslo_log import log

from scheduler_svc.core.table.table import HostTable
from scheduler_svc.core.weighers.multipliers import parse_multiplier

LOG = log.getLogger(__name__)


class AggregateMetadataChecker:
    """Checker of aggregate metadata that warns once of each multiplier that is not a finite number."""

    def __init__(self, table: Callable[[], HostTable], options: Iterable[str]) -> None:
        self._table = table
        self._options = tuple(options)
        self._logged: frozenset[str] = frozenset()

    def check(self) -> None:
        """Check the metadata of all aggregates. The table is locked only while the metadata is copied."""
        with self._table().reading() as view:
            metadata = {name: view.aggregates.metadata(name) for name in view.aggregates.names}
        complaints = frozenset(
            f"Aggregate {name}: {option} = {values[option][:40]!r} is not a finite number; "
            "using the configured multiplier"
            for name, values in metadata.items()
            for option in self._options
            if option in values and parse_multiplier(values[option]) is None
        )
        for complaint in sorted(complaints - self._logged):
            LOG.warning("%s", complaint)
        self._logged = complaints
