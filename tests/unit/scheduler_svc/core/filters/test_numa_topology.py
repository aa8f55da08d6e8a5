# SPDX-License-Identifier: Apache-2.0
"""Requests with a NUMA topology."""

from tests.unit.scheduler_svc.core.filters.cloud import make_nodes, passing_hosts


def test_numa_topology_requires_numa_cells():
    nodes = {**make_nodes("cells", numa=[{"id": 0}]), **make_nodes("flat")}
    assert passing_hosts("NUMATopologyFilter", nodes, numa={"cells": [{"id": 0}]}) == ["cells"]
    assert passing_hosts("NUMATopologyFilter", nodes) == ["cells", "flat"]
