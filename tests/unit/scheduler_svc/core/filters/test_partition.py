# SPDX-License-Identifier: Apache-2.0
"""Partitions whose store is unreachable."""

import pytest

from scheduler_svc.core.filtering import pipeline
from scheduler_svc.core.request import DecisionContext
from scheduler_svc.core.table.table import HostTable
from tests.support.scheduler.hosts import node, request, snapshot


@pytest.mark.parametrize(
    ("unavailable", "expected"), [((), ["a", "b"]), (("east",), ["b"]), (("east", "west"), []), (("moon",), ["a", "b"])]
)
def test_hosts_of_unavailable_partitions_are_rejected(unavailable, expected):
    table = HostTable(["east", "west"])
    for number, name in enumerate("ab"):
        table.load(snapshot({name: node()}), number)
    with table.reading() as view:
        scheduling_request = request(decision=DecisionContext(unavailable_partitions=unavailable))
        survivors = pipeline.run([], view, scheduling_request)
        assert [view.name(row) for row in range(view.size) if survivors.passes[row]] == expected


@pytest.mark.parametrize(
    ("stays", "unavailable", "expected", "reasons"),
    [
        (True, (), ["b"], {"in another partition than the server": 1}),
        (False, (), ["a", "b"], {}),
        # A host that the move may not go to is none whose partition is waited for.
        (True, ("east",), ["b"], {"in another partition than the server": 1}),
        (True, ("west",), [], {"in another partition than the server": 1, "partition unavailable": 1}),
    ],
)
def test_hosts_of_other_partitions_are_rejected_for_a_move_that_stays(stays, unavailable, expected, reasons):
    table = HostTable(["east", "west"])
    for number, name in enumerate("ab"):
        table.load(snapshot({name: node()}), number)
    with table.reading() as view:
        move = request(
            source_partition="west",
            stays_in_partition=stays,
            decision=DecisionContext(unavailable_partitions=unavailable),
        )
        survivors = pipeline.run([], view, move)
        assert [view.name(row) for row in range(view.size) if survivors.passes[row]] == expected
        assert survivors.reasons == reasons
