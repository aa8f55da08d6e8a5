# SPDX-License-Identifier: Apache-2.0
"""Host state for older peers."""

import pytest

from rpcapi import objects


@pytest.mark.parametrize(("version", "has_partition"), [("1.0", False), ("1.1", True)])
def test_older_peer_gets_no_partition(version, has_partition):
    state = objects.HostState.of(namespace="n", name="h", version=1, document={}, partition="cell1")
    data = state.obj_to_primitive(target_version=version, version_manifest={"HostState": version})["gantt_object.data"]
    assert ("partition" in data) is has_partition
