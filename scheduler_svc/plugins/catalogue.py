# SPDX-License-Identifier: Apache-2.0
"""All filters and weighers that there are: built in or from outside, enabled or not, and what each has cost."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from scheduler_svc.conf import plugins as conf_plugins
from scheduler_svc.drivers.driver import Driver
from scheduler_svc.filters import pipeline
from scheduler_svc.filters.sieve import Filter
from scheduler_svc.plugins import figures
from scheduler_svc.plugins.figures import FILTER, WEIGHER, Figures
from scheduler_svc.reads import NOTHING, Reads, union
from scheduler_svc.weighers import scoring
from scheduler_svc.weighers.weigher import Weigher

BUILT_IN = "gantt"


@dataclass(frozen=True, slots=True)
class Listed:
    """One filter or weigher; ``form`` None: it is not loaded, as it is not enabled."""

    name: str
    kind: str
    form: str | None
    source: str
    enabled: bool
    reads: Reads
    figures: Figures


def listed(driver: Driver, kind: str | None = None) -> list[Listed]:
    """Return all of that kind, or of both, as ``driver`` uses them: in its order, then what it does not use."""
    found: list[Listed] = []
    if kind in (None, FILTER):
        built_in = {each.name: each.reads for each in pipeline.pipeline()}
        found += _listed(FILTER, driver.filters, {name: built_in.get(name, NOTHING) for name in pipeline.NAMES})
    if kind in (None, WEIGHER):
        found += _listed(WEIGHER, driver.weighers, dict.fromkeys(scoring.NAMES, NOTHING))
    return found


def _listed(kind: str, used: Sequence[Filter] | Sequence[Weigher], built_in: dict[str, Reads]) -> Iterator[Listed]:
    group = conf_plugins.FILTERS if kind == FILTER else conf_plugins.WEIGHERS
    points = conf_plugins.installed(group)
    outside = {name: ", ".join(map(conf_plugins.source, its)) for name, its in points.items()}
    reads: dict[str, Reads] = {}
    for each in used:
        reads[each.name] = union([reads.get(each.name, NOTHING), each.reads])
    for name in dict.fromkeys([*reads, *built_in, *outside]):
        enabled, mine = name in reads, name in built_in
        its = figures.of(kind, name)
        yield Listed(
            name=name,
            kind=kind,
            form=its.form if enabled or mine else None,
            source=BUILT_IN if mine else outside.get(name, "uninstalled meanwhile"),
            enabled=enabled,
            reads=reads.get(name) or built_in.get(name, NOTHING),
            figures=its,
        )
