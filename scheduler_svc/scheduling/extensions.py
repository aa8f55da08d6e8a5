# SPDX-License-Identifier: Apache-2.0
"""Catalog of all filters and weighers, built-in or external, enabled or not, with their timings."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from scheduler_svc.core import built_in
from scheduler_svc.core import timings as figures
from scheduler_svc.core.drivers.driver import Driver
from scheduler_svc.core.filtering import pipeline
from scheduler_svc.core.matching.predicate import Filter
from scheduler_svc.core.plugins import entry_points
from scheduler_svc.core.reads import NO_READS, Reads, union
from scheduler_svc.core.timings import FILTER, WEIGHER, PluginTimings
from scheduler_svc.core.weighers.weigher import Weigher

BUILT_IN = "gantt"


@dataclass(frozen=True, slots=True)
class CatalogueEntry:
    """Filter or weigher. ``form`` is None if a plugin is not enabled and thus not loaded."""

    name: str
    kind: str
    form: str | None
    source: str
    enabled: bool
    reads: Reads
    timings: PluginTimings


def list_entries(driver: Driver, kind: str | None = None) -> list[CatalogueEntry]:
    """Return filters, weighers or both: first the driver's in its order, then all others."""
    entries: list[CatalogueEntry] = []
    if kind in (None, FILTER):
        reads = {host_filter.name: host_filter.reads for host_filter in pipeline.pipeline()}
        entries += _list_kind(FILTER, driver.filters, reads)
    if kind in (None, WEIGHER):
        entries += _list_kind(WEIGHER, driver.weighers, dict.fromkeys(built_in.WEIGHER_NAMES, NO_READS))
    return entries


def _list_kind(
    kind: str, used: Sequence[Filter] | Sequence[Weigher], built_in_reads: dict[str, Reads]
) -> Iterator[CatalogueEntry]:
    group = entry_points.FILTERS if kind == FILTER else entry_points.WEIGHERS
    points = entry_points.installed(group)
    external = {name: ", ".join(map(entry_points.source, name_points)) for name, name_points in points.items()}
    # Guarded plugins have ``per_host`` set; filters and weighers without it are gantt's own.
    own = {*built_in_reads, *(plugin.name for plugin in used if plugin.per_host is None)}
    reads: dict[str, Reads] = {}
    for plugin in used:
        reads[plugin.name] = union([reads.get(plugin.name, NO_READS), plugin.reads])
    for name in dict.fromkeys([*reads, *built_in_reads, *external]):
        enabled, is_built_in = name in reads, name in own
        timings = figures.find_timings(kind, name)
        yield CatalogueEntry(
            name=name,
            kind=kind,
            form=timings.form if enabled or is_built_in else None,
            source=BUILT_IN if is_built_in else external.get(name, "uninstalled meanwhile"),
            enabled=enabled,
            reads=reads.get(name) or built_in_reads.get(name, NO_READS),
            timings=timings,
        )
