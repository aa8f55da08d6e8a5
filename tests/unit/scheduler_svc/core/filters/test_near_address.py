# SPDX-License-Identifier: Apache-2.0
"""The hint that names a network."""

import pytest

from tests.unit.scheduler_svc.core.filters.cloud import make_nodes, passing_hosts

NODES = {
    **make_nodes("h1/a", host_ip="10.0.0.1"),
    **make_nodes("h1/b", host_ip="10.0.1.1"),
    **make_nodes("h2", host_ip="fd00::1"),
    **make_nodes("h3"),
}
ALL = list(NODES)


@pytest.mark.parametrize(
    ("hints", "expected"),
    [
        ({}, ALL),
        ({"build_near_host_ip": "10.0.0.77"}, ["h1/a"]),
        ({"build_near_host_ip": ["10.0.0.77"], "cidr": "/23"}, ["h1/a", "h1/b"]),
        ({"build_near_host_ip": "fd00::77", "cidr": "/64"}, ["h2"]),
        ({"build_near_host_ip": "10.0.0.77", "cidr": "/0"}, ["h1/a", "h1/b"]),
    ],
)
def test_near_address_hint_accepts_hosts_in_the_network(hints, expected):
    assert passing_hosts("SimpleCIDRAffinityFilter", NODES, hints=hints) == expected
