# SPDX-License-Identifier: Apache-2.0
"""Buses and configuration of a measurement; nothing is started."""

import pytest

from devstack.cluster_size import ClusterSize
from devstack.lab import private_cluster
from devstack.lab.private_cluster import PrivateCluster


@pytest.mark.parametrize(("text", "names"), [("both", ["rabbit", "embedded"]), ("rabbit", ["rabbit"])])
def test_both_means_each_bus(text, names):
    assert list(private_cluster.buses(text)) == names
    assert set(names) <= set(private_cluster.MODES)


@pytest.mark.parametrize(("fsync", "appendonly"), [("always", "always"), ("everysec", "everysec"), ("no", "no")])
def test_store_is_as_durable_as_the_measurement_needs(tmp_path, fsync, appendonly):
    cluster = PrivateCluster(tmp_path, ClusterSize(), fsync, {})
    assert cluster.store.appendonly == appendonly
    assert cluster.store_url.startswith("unix://scheduler:")
    assert cluster.bus_url.startswith("gantt+redis://admin:")


def test_nothing_expires_during_a_measurement():
    assert private_cluster.LONG_TIMEOUTS["scheduler"]["claim_ttl"] >= 3600
    assert private_cluster.LONG_TIMEOUTS["store"]["service_down_time"] >= 3600
