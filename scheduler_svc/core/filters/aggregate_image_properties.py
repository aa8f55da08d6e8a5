# SPDX-License-Identifier: Apache-2.0
"""Restricts aggregates to images with given properties: Nova's AggregateImagePropertiesIsolation."""

from collections.abc import Iterator, Sequence

from scheduler_svc.core.matching.aggregate_values import READS, members_with_value
from scheduler_svc.core.matching.options import DEFAULTS, FilterOptions
from scheduler_svc.core.matching.predicate import Filter, HostPredicate
from scheduler_svc.core.request import SchedulingRequest
from scheduler_svc.core.table.columns import Column
from scheduler_svc.core.table.view import View

NAME = "AggregateImagePropertiesIsolation"
REASON = "aggregates of other images"


def build(options: FilterOptions = DEFAULTS) -> Filter:
    """Return the filter; with ``options.properties_namespace`` only properties with this prefix are checked."""
    namespace = options.properties_namespace
    prefix = namespace + options.properties_separator if namespace else ""

    def predicates(view: View, request: SchedulingRequest) -> Iterator[HostPredicate]:
        """Accept hosts whose aggregates do not set the image's properties, or set them to the image's values."""
        properties = request.image.get("properties", {})
        properties_to_match = [
            (key, str(value)) for key, value in properties.items() if value and key.startswith(prefix)
        ]
        if not properties_to_match or not view.aggregates.names:
            return
        passes = view.aggregates.get_or_compute(
            (NAME, *properties_to_match), lambda: _match_properties(view, properties_to_match)
        )
        if passes is not None:
            yield HostPredicate(REASON, passes)

    return Filter(NAME, predicates, READS)


def _match_properties(view: View, properties_to_match: Sequence[tuple[str, str]]) -> Column | None:
    passes: Column | None = None
    for key, value in properties_to_match:
        texts = view.aggregates.metadata_values(key)
        if texts:
            column = ~view.aggregates.members(texts) | members_with_value(view, texts, value.__eq__)
            passes = column if passes is None else passes & column
    return passes
