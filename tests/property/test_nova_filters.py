# SPDX-License-Identifier: Apache-2.0
"""Each of Nova's filters lets pass what its rule for one host would, several aggregates and odd text included."""

import pytest
from hypothesis import given, settings

from scheduler_svc.filters import pipeline
from scheduler_svc.filters.options import FilterOptions
from scheduler_svc.reads import union
from tests.property import clouds
from tests.property.filter_oracles import ISOLATED_HOSTS, ISOLATED_IMAGES, ORACLES

OPTIONS = FilterOptions(metrics=("heat",), isolated_images=frozenset(ISOLATED_IMAGES), isolated_hosts=ISOLATED_HOSTS)
FILTERS = {name: pipeline.build([name], OPTIONS) for name in ORACLES}
READS = union(each.reads for filters in FILTERS.values() for each in filters)


def passing(names, cloud, asked):
    """Return by the name of each filter which hosts it lets pass, in their order."""
    found = {}
    with clouds.table(cloud, READS).reading() as view:
        for name in names:
            left = pipeline.run(FILTERS[name], view, clouds.request(cloud, asked))
            assert left.hosts - left.count == sum(left.reasons.values())
            found[name] = [view.name(row) for row in range(view.size) if left.passes[row]]
    return found


def expected(names, cloud, asked):
    return {name: [host["name"] for host in cloud["hosts"] if ORACLES[name](cloud, host, asked)] for name in names}


@pytest.mark.parametrize("examples", [100, pytest.param(6000, marks=pytest.mark.long)])
@pytest.mark.timeout(1200)
def test_a_filter_lets_pass_what_its_rule_for_one_host_would(examples):
    @settings(max_examples=examples, deadline=None)
    @given(cloud=clouds.clouds(), asked=clouds.requests)
    def holds(cloud, asked):
        assert passing(ORACLES, cloud, asked) == expected(ORACLES, cloud, asked)

    holds()


@pytest.mark.parametrize("examples", [60, pytest.param(6000, marks=pytest.mark.long)])
@pytest.mark.timeout(1200)
def test_a_query_is_answered_by_column_as_it_would_be_for_each_host(examples):
    @settings(max_examples=examples, deadline=None)
    @given(cloud=clouds.clouds(), query=clouds.queries)
    def holds(cloud, query):
        asked = clouds.query_request(query)
        assert passing(["JsonFilter"], cloud, asked) == expected(["JsonFilter"], cloud, asked)

    holds()


def test_each_of_novas_filters_is_there_by_its_name_and_has_an_oracle_or_is_decided_in_a_tree():
    nova = {*ORACLES, "NUMATopologyFilter", "PciPassthroughFilter"}
    assert len(nova) == 22
    assert nova <= set(pipeline.NAMES)
