# SPDX-License-Identifier: Apache-2.0
"""``gantt filter list`` and ``gantt weigher list``."""

import pytest

BUILT_IN = {
    "names": "ComputeFilter",
    "kinds": "filter",
    "forms": "columnar",
    "sources": "gantt",
    "enabled": True,
    "reads": {"service": ["alive", "enabled"]},
    "calls": 0,
    "errors": 0,
    "seconds": 0.0,
    "hosts": 0,
    "last_errors": None,
}
OUTSIDE = BUILT_IN | {
    "names": "AcmeFilter",
    "forms": "per-host",
    "sources": "acme 1.2",
    "reads": {},
    "calls": 4,
    "errors": 1,
    "seconds": 0.002,
    "hosts": 1000,
    "last_errors": "KeyError: 'a'",
}
OFF = BUILT_IN | {"names": "OffFilter", "forms": None, "enabled": False}
WEIGHER = BUILT_IN | {"names": "RAMWeigher", "kinds": "weigher"}


@pytest.fixture
def filters(cluster):
    cluster.scheduler.filters = [BUILT_IN, OUTSIDE, OFF, WEIGHER]


def test_enabled_filters_are_listed_in_order_with_costs(filters, gantt):
    first, second = gantt("filter", "list", "-f", "json").json
    assert (first["name"], first["form"], first["source"], first["mean_us"]) == (
        "ComputeFilter",
        "columnar",
        "gantt",
        None,
    )
    assert (second["name"], second["source"], second["errors"], second["last_error"]) == (
        "AcmeFilter",
        "acme 1.2",
        1,
        "KeyError: 'a'",
    )
    assert (second["mean_us"], second["us_per_host"]) == (500.0, 2.0)


def test_table_shows_data_read_and_the_measuring_worker(filters, gantt):
    result = gantt("filter", "list")
    assert "service: alive, enabled" in result.out
    assert "worker s:0" in result.err


def test_disabled_filters_are_listed_with_all(filters, gantt):
    assert [row["name"] for row in gantt("filter", "list", "--all", "-f", "json").json][-1] == "OffFilter"


def test_weighers_are_listed_separately(filters, gantt):
    assert [row["name"] for row in gantt("weigher", "list", "-f", "json").json] == ["RAMWeigher"]
