# SPDX-License-Identifier: Apache-2.0
"""Moves within a partition."""

import pytest

from scheduler_svc.core.table.table import HostTable
from scheduler_svc.core.weighers.cross_cell import WEIGHER
from tests.unit.scheduler_svc.fakes.hosts import node, request, snapshot


@pytest.mark.parametrize(
    ("source", "expected"), [("east", [1, -1]), ("west", [-1, 1]), ("moon", [-1, -1]), (None, None)]
)
def test_hosts_of_the_source_partition_have_the_greater_number(source, expected):
    table = HostTable(["east", "west"])
    for number, name in enumerate("ab"):
        table.load(snapshot({name: node()}), number)
    with table.reading() as view:
        values = WEIGHER.raw(view, request(source_partition=source))
        assert (None if values is None else values.tolist()) == expected
    assert WEIGHER.step(request(source_partition=source)) == 0
