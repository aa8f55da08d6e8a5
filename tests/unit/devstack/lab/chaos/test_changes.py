# SPDX-License-Identifier: Apache-2.0
"""The statuses in which changes of servers may leave them."""

import inspect

import pytest

from devstack.lab.chaos.changes import CHANGES, expected_statuses
from devstack.lab.chaos.history import CallOutcome, Operation
from rpcapi.clients.conductor import ConductorAPI

DONE, UNKNOWN, REFUSED = CallOutcome.ACKNOWLEDGED, CallOutcome.UNKNOWN, CallOutcome.REFUSED


def expected(*calls: tuple[str, CallOutcome]) -> set[str]:
    operations = [
        Operation(verb, ["a"], float(number), outcome=outcome)
        for number, (verb, outcome) in enumerate([("boot", DONE), *calls])
    ]
    return set(expected_statuses(reversed(operations))["a"])


@pytest.mark.parametrize(
    ("calls", "statuses"),
    [
        ([], {"ACTIVE"}),
        ([("stop", DONE)], {"SHUTOFF"}),
        ([("stop", UNKNOWN)], {"ACTIVE", "SHUTOFF"}),
        ([("stop", REFUSED)], {"ACTIVE"}),
        ([("stop", DONE), ("start", DONE)], {"ACTIVE"}),
        ([("stop", DONE), ("start", UNKNOWN)], {"ACTIVE", "SHUTOFF"}),
        ([("stop", DONE), ("rebuild", DONE)], {"SHUTOFF"}),
        ([("reboot", DONE)], {"ACTIVE"}),
        ([("shelve", DONE)], {"SHELVED", "SHELVED_OFFLOADED"}),
        ([("shelve", DONE), ("unshelve", DONE)], {"ACTIVE", "SHELVED_OFFLOADED"}),
        ([("stop", DONE), ("list", DONE), ("delete", UNKNOWN)], {"SHUTOFF"}),
        ([("migrate", DONE)], {"ACTIVE", "VERIFY_RESIZE"}),
        ([("stop", DONE), ("resize", UNKNOWN)], {"SHUTOFF", "VERIFY_RESIZE"}),
        ([("migrate", REFUSED)], {"ACTIVE"}),
        ([("migrate", DONE), ("confirm", DONE)], {"ACTIVE"}),
        ([("migrate", DONE), ("confirm", UNKNOWN)], {"ACTIVE", "VERIFY_RESIZE"}),
        ([("stop", DONE), ("migrate", DONE), ("revert", DONE)], {"SHUTOFF"}),
        ([("live-migrate", DONE), ("abort", UNKNOWN)], {"ACTIVE"}),
        ([("stop", DONE), ("evacuate", DONE)], {"SHUTOFF"}),
    ],
)
def test_expected_statuses(calls: list[tuple[str, CallOutcome]], statuses: set[str]) -> None:
    assert expected(*calls) == statuses


@pytest.mark.parametrize("verb", CHANGES)
def test_conductor_has_the_method_of_each_change(verb: str) -> None:
    parameters = list(inspect.signature(getattr(ConductorAPI, CHANGES[verb].method)).parameters)
    assert parameters[:3] == ["self", "ctxt", "uuids"]
    assert (parameters[3:4] == ["migrations"]) == CHANGES[verb].moves
