# SPDX-License-Identifier: Apache-2.0
"""The catalogue of filters and weighers: all that are built in, those in use first."""

import pytest

from scheduler_svc.core import built_in
from scheduler_svc.core.drivers.filter import FilterDriver
from scheduler_svc.core.filtering import pipeline
from scheduler_svc.core.matching.predicate import Filter
from scheduler_svc.core.timings import FILTER, WEIGHER
from scheduler_svc.core.weighers import scoring
from scheduler_svc.scheduling.extensions import BUILT_IN, list_entries

DRIVER = FilterDriver(pipeline.build(["ResourcesFilter"]), scoring.build({"CPUWeigher": 1.0}))


@pytest.mark.parametrize(
    ("kind", "name", "names"),
    [(FILTER, "ResourcesFilter", built_in.FILTER_NAMES), (WEIGHER, "CPUWeigher", built_in.WEIGHER_NAMES)],
)
def test_catalogue_has_all_of_one_kind(kind, name, names):
    entries = {entry.name: entry for entry in list_entries(DRIVER, kind)}
    assert set(names) <= set(entries)
    assert {entry.kind for entry in entries.values()} == {kind}
    assert entries[name].enabled
    assert {entries[built_in].source for built_in in names} == {BUILT_IN}


def test_filters_in_use_are_listed_first_in_their_order():
    entries = list_entries(DRIVER, FILTER)
    in_use = [host_filter.name for host_filter in DRIVER.filters]
    assert [entry.name for entry in entries if entry.enabled] == list(dict.fromkeys(in_use))
    assert [entry.enabled for entry in entries] == sorted((entry.enabled for entry in entries), reverse=True)


def test_filter_that_composition_adds_is_gantts_own():
    added = Filter("AddedFilter", lambda view, request: ())
    driver = FilterDriver([added, *DRIVER.filters], DRIVER.weigher_set)
    assert next(entry.source for entry in list_entries(driver, FILTER) if entry.name == added.name) == BUILT_IN


def test_catalogue_of_both_kinds_is_the_filters_then_the_weighers():
    assert list_entries(DRIVER) == [*list_entries(DRIVER, FILTER), *list_entries(DRIVER, WEIGHER)]
