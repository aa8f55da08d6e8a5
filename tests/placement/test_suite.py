# SPDX-License-Identifier: Apache-2.0
"""The files of Placement's own suite.

A test of the suite counts as passed only if it ran as it is: none is skipped or changed.
"""

import os
from unittest import mock

import pytest

from tests.placement import fixtures, suite
from tests.support.placement.files import ALL, FILES

# Some files, for runs without --placement.
SHORT = ("basic-http", "resource-provider")
SHORT_IN_MEMORY = ("allocations-1.28", "granular-same-subtree", "reshaper", "traits")
# The suite's client refuses to send this request; tests/unit/scheduler_svc/placement/http sends it.
NOT_SENDABLE = "bad content length not int"


def check(servers, configuration, name):
    port = servers.port(configuration)
    with mock.patch.dict(os.environ, {fixtures.PORT: str(port)}):  # fixtures set more variables, for this file only
        count, problems = suite.run(suite.load(name, port, fixtures))
    problems = {test: text for test, text in problems.items() if test != NOT_SENDABLE}
    assert not problems, "\n\n".join(f"{test}: {text}" for test, text in problems.items())
    assert count == suite.number_of_tests(name) == FILES[configuration][name]


@pytest.mark.parametrize("placement_servers", ["redis"], indirect=True)
@pytest.mark.parametrize("name", SHORT)
def test_file_of_the_short_form_passes(placement_servers, name):
    check(placement_servers, "default", name)


@pytest.mark.parametrize("placement_servers", ["memory"], indirect=True)
@pytest.mark.parametrize("name", SHORT_IN_MEMORY)
def test_file_of_the_short_form_passes_in_memory(placement_servers, name):
    check(placement_servers, "default", name)


@pytest.mark.placement
@pytest.mark.parametrize(("configuration", "name"), ALL)
def test_file_passes(placement_servers, configuration, name):
    check(placement_servers, configuration, name)
