# SPDX-License-Identifier: Apache-2.0
"""Hypervisor versions."""

from scheduler_svc.core.weighers.hypervisor_version import WEIGHER
from tests.support.scheduler.hosts import node, request
from tests.unit.scheduler_svc.core.weighers.raw_values import raw_values


def test_number_is_the_reported_version_or_zero():
    versions = ({"hypervisor_version": 8_002_000}, {"hypervisor_version": "new"}, {})
    nodes = {f"h{number}": node() | {"facts": facts} for number, facts in enumerate(versions)}
    assert raw_values(WEIGHER, nodes) == [8_002_000, 0, 0]
    assert WEIGHER.step(request()) == 0
