# SPDX-License-Identifier: Apache-2.0
"""Entry points of installed filter and weigher plugins, found without importing the plugins."""

from collections.abc import Collection, Mapping, Sequence
from importlib import metadata

from rpcapi import errors

FILTERS = "gantt.filters"
WEIGHERS = "gantt.weighers"


def installed(group: str) -> Mapping[str, Sequence[metadata.EntryPoint]]:
    points: dict[str, list[metadata.EntryPoint]] = {}
    for point in metadata.entry_points(group=group):
        points.setdefault(point.name, []).append(point)
    return points


def source(point: metadata.EntryPoint) -> str:
    return f"{point.dist.name} {point.dist.version}" if point.dist else "an unknown distribution"


def enabled(names: Collection[str], group: str, built_in: Collection[str]) -> list[metadata.EntryPoint]:
    """Return the entry points that ``names`` enable, in order. Raises BadConfiguration for an ambiguous name."""
    installed_points = installed(group)
    enabled_points: list[metadata.EntryPoint] = []
    for name in dict.fromkeys(names):
        points = installed_points.get(name, ())
        sources = [source(point) for point in points] + ["gantt itself"] * (name in built_in)
        if points and len(sources) > 1:
            raise errors.BadConfiguration(
                why=f"[filter_scheduler] {name!r} is in {' and in '.join(sources)}: uninstall one"
            )
        enabled_points += points
    return enabled_points
