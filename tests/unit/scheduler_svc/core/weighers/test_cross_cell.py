# SPDX-License-Identifier: Apache-2.0
"""Moves within a partition, and within a cell of Nova."""

import dataclasses

import pytest

from scheduler_svc.core.table.table import HostTable
from scheduler_svc.core.weighers.cross_cell import WEIGHER
from tests.support.nova.nova import compute_node
from tests.support.scheduler.hosts import node, request, snapshot


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


@pytest.mark.parametrize(
    ("source", "expected"), [("cell-1", [1, -1, -1]), ("cell-2", [-1, 1, -1]), ("cell-9", [-1, -1, -1])]
)
def test_hosts_of_the_source_cell_have_the_greater_number(source, expected):
    names = [f"@api/h{number}" for number in range(3)]
    documents = {name: compute_node(cell=f"cell-{number + 1}") for number, name in enumerate(names[:2])}
    state = dataclasses.replace(snapshot({name: node() for name in names}), states={"compute_node": documents})
    table = HostTable.from_snapshot(state, reads=WEIGHER.reads)
    with table.reading() as view:
        values = WEIGHER.raw(view, request(source_cell=source, source_partition="default"))
        assert values.tolist() == expected
