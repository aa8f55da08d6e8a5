# SPDX-License-Identifier: Apache-2.0
"""The files of Placement's own suite whose routes are served.

A test of the suite counts as passed only if it ran as it is: none is skipped or changed.
"""

import pytest

from tests.placement import fixtures, suite

# The number of tests in each file, so that none is lost unnoticed.
FILES = {
    "aggregate": 19,
    "allocation-bad-class": 7,
    "allocations": 45,
    "allocations-1-12": 10,
    "allocations-post": 29,
    "allocations-1-8": 10,
    "allocations-bug-1714072": 7,
    "allocations-bug-1778591": 5,
    "allocations-bug-1778743": 5,
    "allocations-bug-1779717": 8,
    "basic-http": 24,
    "bug-1674694": 3,
    "confirm-auth": 4,
    "inventory": 64,
    "microversion": 8,
    "microversion-bug-1724065": 1,
    "non-cors": 2,
    "resource-class-in-use": 10,
    "resource-classes": 30,
    "resource-classes-1-6": 1,
    "resource-classes-1-7": 6,
    "resource-classes-last-modified": 10,
    "resource-provider": 83,
    "resource-provider-bug-1779818": 9,
    "resource-provider-duplication": 4,
    "resource-provider-links": 8,
    "traits": 53,
    "unicode": 5,
    "usage": 15,
}
SHORT = ("basic-http", "resource-provider", "traits")
# The suite's client refuses to send this request; tests/unit/scheduler_svc/endpoints/placement sends it.
NOT_SENDABLE = "bad content length not int"


def check(name, port):
    count, problems = suite.run(suite.load(name, port, fixtures))
    problems = {test: text for test, text in problems.items() if test != NOT_SENDABLE}
    assert not problems, "\n\n".join(f"{test}: {text}" for test, text in problems.items())
    assert count == FILES[name]


@pytest.mark.parametrize("name", SHORT)
def test_file_of_the_short_form_passes(placement_port, name):
    check(name, placement_port)


@pytest.mark.placement
@pytest.mark.parametrize("name", FILES)
def test_file_passes(placement_port, name):
    check(name, placement_port)
