# SPDX-License-Identifier: Apache-2.0
"""The filter that accepts every host."""

from tests.unit.scheduler_svc.core.filters.cloud import make_nodes, passing_hosts


def test_every_host_is_accepted():
    assert passing_hosts("AllHostsFilter", make_nodes("a", "b"), availability_zone="az9") == ["a", "b"]
