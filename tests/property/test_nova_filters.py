# SPDX-License-Identifier: Apache-2.0
"""Each of Nova's filters compared with its oracle, including several aggregates and unusual texts."""

import pytest
from hypothesis import given, settings

from scheduler_svc.core import built_in
from tests.support.clouds import clouds
from tests.support.clouds.filter_oracles import ORACLES
from tests.support.clouds.filtering import passing


def expected(names, cloud, request):
    return {name: [host["name"] for host in cloud["hosts"] if ORACLES[name](cloud, host, request)] for name in names}


@pytest.mark.parametrize("examples", [100, pytest.param(6000, marks=pytest.mark.long)])
@pytest.mark.timeout(1200)
def test_filters_equal_their_oracles(examples):
    @settings(max_examples=examples, deadline=None)
    @given(cloud=clouds.clouds(), request=clouds.requests)
    def holds(cloud, request):
        assert passing(ORACLES, cloud, request) == expected(ORACLES, cloud, request)

    holds()


@pytest.mark.parametrize("examples", [60, pytest.param(6000, marks=pytest.mark.long)])
@pytest.mark.timeout(1200)
def test_query_by_column_equals_the_oracle(examples):
    @settings(max_examples=examples, deadline=None)
    @given(cloud=clouds.clouds(), query=clouds.queries)
    def holds(cloud, query):
        request = clouds.query_request(query)
        assert passing(["JsonFilter"], cloud, request) == expected(["JsonFilter"], cloud, request)

    holds()


def test_all_nova_filters_exist_and_have_an_oracle_or_use_trees():
    nova = {*ORACLES, "NUMATopologyFilter", "PciPassthroughFilter"}
    assert len(nova) == 22
    assert nova <= set(built_in.FILTER_NAMES)
