# SPDX-License-Identifier: Apache-2.0
"""Are the host's aggregates for images with these properties? Nova's AggregateImagePropertiesIsolation."""

from collections.abc import Iterator, Sequence

from scheduler_svc.filters.aggregate_values import READS, saying
from scheduler_svc.filters.options import DEFAULTS, Options
from scheduler_svc.filters.sieve import Filter, Sieve
from scheduler_svc.request import Request
from scheduler_svc.table.columns import Column
from scheduler_svc.table.view import View

NAME = "AggregateImagePropertiesIsolation"
REASON = "aggregates of other images"


def build(options: Options = DEFAULTS) -> Filter:
    """Return the filter; with ``options.properties_namespace`` only keys that begin with it are looked at."""
    namespace = options.properties_namespace
    prefix = namespace + options.properties_separator if namespace else ""

    def sieves(view: View, request: Request) -> Iterator[Sieve]:
        """Let hosts pass whose aggregates say nothing of a property that the image has, or what it says."""
        properties = request.image.get("properties", {})
        asked = [(key, str(value)) for key, value in properties.items() if value and key.startswith(prefix)]
        if not asked or not view.aggregates.names:
            return
        passes = view.aggregates.once((NAME, *asked), lambda: _suiting(view, asked))
        if passes is not None:
            yield Sieve(REASON, passes)

    return Filter(NAME, sieves, READS)


def _suiting(view: View, asked: Sequence[tuple[str, str]]) -> Column | None:
    passes: Column | None = None
    for key, wanted in asked:
        told = view.aggregates.having(key)
        if told:
            column = ~view.aggregates.members(told) | saying(view, told, wanted.__eq__)
            passes = column if passes is None else passes & column
    return passes
