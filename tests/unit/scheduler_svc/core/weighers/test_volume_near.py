# SPDX-License-Identifier: Apache-2.0
"""Locations of storage pools."""

import pytest

from rpcapi.resources.groups import RequestGroup
from scheduler_svc.core.weighers.volume_near import WEIGHER
from tests.support.scheduler.hosts import node, request
from tests.unit.scheduler_svc.core.weighers.raw_values import raw_values

NODES = {
    "a/1": node() | {"facts": {"location": "rack1"}},
    "a/2": node() | {"facts": {"location": "rack2"}},
    "b": node(),
}
POOLS = {"volume": {"p1": {"location": "rack1"}, "p2": {"location": "rack2"}, "p3": {}}}
NEW_VOLUME = {"size_gb": 1, "group": "_vol0"}


@pytest.mark.parametrize(
    ("volumes", "groups", "expected"),
    [
        ([{"pool": "p2"}], [], [0, 1, 0]),
        ([{"pool": "p1"}, {"pool": "p2"}, {"pool": "p2"}, {"pool": "p3"}], [], [1, 2, 0]),
        ([], [], None),
        ([{"pool": "p3"}, {"pool": "unknown"}], [], None),
        ([NEW_VOLUME], [RequestGroup("_vol0", {"DISK_GB": 1}, in_tree="p1")], [1, 0, 0]),
        ([NEW_VOLUME], [], None),
    ],
)
def test_number_is_the_count_of_volumes_at_the_same_location(volumes, groups, expected):
    fields = {"volumes": tuple(volumes), "groups": tuple(groups)}
    assert raw_values(WEIGHER, NODES, documents=POOLS, **fields) == expected
    assert WEIGHER.step(request(**fields)) == 0
