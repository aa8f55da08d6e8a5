# SPDX-License-Identifier: Apache-2.0
"""The requested NUMA topology of a guest."""

import pytest

from rpcapi.resources.numa.pinning import ThreadPolicy
from rpcapi.resources.numa.topology import DevicePolicy, GuestCell, GuestTopology


def test_topology_is_read_from_a_request_spec():
    numa = {
        "cells": [{"id": 0, "group": "_numa0", "cpus": [0, 1, 2], "pcpus": [2, 1], "memory_mb": 512}],
        "cpu_policy": "mixed",
        "thread_policy": "isolate",
        "devices": {"_pci0": "legacy"},
    }
    assert GuestTopology.from_dict(numa) == GuestTopology(
        (GuestCell(0, "_numa0", (0,), (2, 1), 512),),
        "mixed",
        ThreadPolicy.ISOLATE,
        {"_pci0": DevicePolicy.LEGACY},
    )


@pytest.mark.parametrize("numa", [{}, {"cpu_policy": None, "thread_policy": None}])
def test_missing_fields_mean_no_requirements(numa):
    assert GuestTopology.from_dict(numa) == GuestTopology((), "shared", ThreadPolicy.PREFER, {})
