# SPDX-License-Identifier: Apache-2.0
"""Restrictions by aggregate metadata: Nova's filters by project, flavor, extra specs and image properties."""

from collections.abc import Callable, Iterator, Mapping, Sequence

from scheduler_svc.core.matching.extra_specs import matches
from scheduler_svc.core.matching.options import DEFAULTS, FilterOptions
from scheduler_svc.core.matching.predicate import Filter, HostPredicate
from scheduler_svc.core.request import SchedulingRequest
from scheduler_svc.core.table.aggregates import READS
from scheduler_svc.core.table.columns import Column
from scheduler_svc.core.table.view import View

PROJECTS_NAME = "AggregateMultiTenancyIsolation"
PROJECTS_KEY = "filter_tenant_id"  # prefix, because the limited length of a value may require several keys
FLAVOR_NAME = "AggregateTypeAffinityFilter"
FLAVOR_KEY = "instance_type"
EXTRA_SPECS_NAME = "AggregateInstanceExtraSpecsFilter"
EXTRA_SPECS_REASON = "no aggregate with extra spec {}"
EXTRA_SPECS_SCOPE = "aggregate_instance_extra_specs"
IMAGE_NAME = "AggregateImagePropertiesIsolation"


def split_values(text: str) -> list[str]:
    return [value.strip() for value in text.split(",")]


def members_with_value(view: View, texts: Mapping[str, str], is_match: Callable[[str], bool]) -> Column:
    return view.aggregates.members([name for name, text in texts.items() if any(map(is_match, split_values(text)))])


def _allowing(view: View, texts: Mapping[str, str], value: str | None) -> Column:
    return ~view.aggregates.members(texts) | members_with_value(view, texts, lambda allowed: allowed == value)


def projects(view: View, request: SchedulingRequest) -> Iterator[HostPredicate]:
    restricted = view.aggregates.get_or_compute(PROJECTS_NAME, lambda: _projects_by_aggregate(view))
    if not restricted:
        return

    def compute() -> Column:
        matching = [name for name, named_projects in restricted.items() if request.project in named_projects]
        return ~view.aggregates.members(restricted) | view.aggregates.members(matching)

    yield HostPredicate(
        "aggregates of other projects", view.aggregates.get_or_compute((PROJECTS_NAME, request.project), compute)
    )


def _projects_by_aggregate(view: View) -> dict[str, set[str]]:
    projects_by_name = {name: _projects(view.aggregates.metadata(name)) for name in view.aggregates.names}
    return {name: named_projects for name, named_projects in projects_by_name.items() if named_projects}


def _projects(metadata: Mapping[str, str]) -> set[str]:
    return {value for key, text in metadata.items() if key.startswith(PROJECTS_KEY) for value in split_values(text)}


def flavor(view: View, request: SchedulingRequest) -> Iterator[HostPredicate]:
    flavors = view.aggregates.metadata_values(FLAVOR_KEY)
    if flavors:
        passes = view.aggregates.get_or_compute(
            (FLAVOR_NAME, request.flavor), lambda: _allowing(view, flavors, request.flavor)
        )
        yield HostPredicate("aggregates of other flavors", passes)


def extra_specs(view: View, request: SchedulingRequest) -> Iterator[HostPredicate]:
    """Require a matching aggregate for each extra spec in this scope or without a scope."""
    for spec, requirement in request.extra_specs.items():
        scope, colon, rest = spec.partition(":")
        if not colon or scope == EXTRA_SPECS_SCOPE:
            key = rest if colon else spec
            yield HostPredicate(EXTRA_SPECS_REASON.format(key), _members_matching(view, key, requirement))


def _members_matching(view: View, key: str, requirement: str) -> Column:
    return view.aggregates.get_or_compute(
        (EXTRA_SPECS_NAME, key, requirement),
        lambda: members_with_value(
            view, view.aggregates.metadata_values(key), lambda value: matches(value, requirement)
        ),
    )


def build_image_properties(options: FilterOptions = DEFAULTS) -> Filter:
    """Build the filter. ``options.properties_namespace`` limits it to properties with this prefix."""
    namespace = options.properties_namespace
    prefix = namespace + options.properties_separator if namespace else ""

    def predicates(view: View, request: SchedulingRequest) -> Iterator[HostPredicate]:
        """Accept hosts whose aggregates do not set the image's properties or set them to the same values."""
        properties = request.image.get("properties", {})
        properties_to_match = [
            (key, str(value)) for key, value in properties.items() if value and key.startswith(prefix)
        ]
        if not properties_to_match or not view.aggregates.names:
            return
        passes = view.aggregates.get_or_compute(
            (IMAGE_NAME, *properties_to_match), lambda: _match_properties(view, properties_to_match)
        )
        if passes is not None:
            yield HostPredicate("aggregates of other images", passes)

    return Filter(IMAGE_NAME, predicates, READS, reasons=("aggregates of other images",))


def _match_properties(view: View, properties_to_match: Sequence[tuple[str, str]]) -> Column | None:
    passes: Column | None = None
    for key, value in properties_to_match:
        texts = view.aggregates.metadata_values(key)
        if texts:
            column = _allowing(view, texts, value)
            passes = column if passes is None else passes & column
    return passes


PROJECTS = Filter(PROJECTS_NAME, projects, READS, reasons=("aggregates of other projects",))
FLAVOR = Filter(FLAVOR_NAME, flavor, READS, reasons=("aggregates of other flavors",))
EXTRA_SPECS = Filter(EXTRA_SPECS_NAME, extra_specs, READS, reasons=(EXTRA_SPECS_REASON,))
