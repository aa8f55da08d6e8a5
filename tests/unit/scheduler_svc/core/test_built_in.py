# SPDX-License-Identifier: Apache-2.0
"""The lists of built-in filters and weighers agree with their modules, and with the options."""

import pkgutil
from collections import Counter

import pytest

from scheduler_svc.conf import weighers as weighers_conf
from scheduler_svc.core import built_in, filters, weighers
from scheduler_svc.core.matching.options import FilterOptions
from scheduler_svc.core.matching.predicate import Filter
from scheduler_svc.core.weighers.options import MetricWeights, WeigherOptions
from scheduler_svc.core.weighers.weigher import Weigher

FILTER_OPTIONS = FilterOptions()
WEIGHER_OPTIONS = WeigherOptions(MetricWeights({"heat": 1.0}), {"os": 1.0})
NO_FILTER_OF_THE_LIST = {"partition", "set_aside"}  # always applied, and not configurable
NO_WEIGHER = {"multipliers", "options", "scoring", "weigher"}


@pytest.mark.parametrize(
    ("entry", "kind", "options"),
    [
        *((entry, Filter, FILTER_OPTIONS) for entry in built_in.FILTERS),
        *((entry, Weigher, WEIGHER_OPTIONS) for entry in built_in.WEIGHERS),
    ],
    ids=lambda value: getattr(value, "source", ""),
)
def test_entry_names_a_filter_or_weigher_of_its_name(entry, kind, options):
    loaded = entry.load()
    item = loaded if isinstance(loaded, kind) else loaded(options)
    assert isinstance(item, kind)
    assert item.name == entry.name


@pytest.mark.parametrize(
    ("package", "entries", "others"),
    [(filters, built_in.FILTERS, NO_FILTER_OF_THE_LIST), (weighers, built_in.WEIGHERS, NO_WEIGHER)],
    ids=["filters", "weighers"],
)
def test_every_module_of_the_package_is_listed_once(package, entries, others):
    modules = {module.name for module in pkgutil.iter_modules(package.__path__)}
    assert {entry.source.partition(":")[0].partition(".")[2] for entry in entries} == modules - others
    assert set(Counter(entry.source for entry in entries).values()) == {1}


def test_only_the_compute_filter_consists_of_several_entries():
    counts = Counter(entry.name for entry in built_in.FILTERS + built_in.WEIGHERS)
    assert {name for name, count in counts.items() if count > 1} == {"ComputeFilter"}


def test_every_weigher_has_a_multiplier_option():
    registered = {option.name for option in weighers_conf.OPTS}
    assert set(weighers_conf.OPTIONS.values()) <= registered
    assert len(set(weighers_conf.AGGREGATE_OPTIONS)) == len(built_in.WEIGHER_NAMES) == len(built_in.WEIGHERS)


def test_default_options_are_the_entries_marked_as_default():
    assert built_in.DEFAULT_FILTERS[0] == "ComputeFilter"
    assert "MembershipFilter" in built_in.DEFAULT_FILTERS
    assert "AllHostsFilter" not in built_in.DEFAULT_FILTERS
    assert {"FreeShareWeigher", "PCIWeigher"} < set(built_in.DEFAULT_WEIGHERS) < set(built_in.WEIGHER_NAMES)
    assert set(built_in.CAPACITY_WEIGHERS) & set(built_in.DEFAULT_WEIGHERS) == {"FreeShareWeigher"}
