# SPDX-License-Identifier: Apache-2.0
"""The base classes of the commands: errors, messages and missing values."""

import pytest

from tests.unit.rpcapi.cli import doubles


def test_remote_error_has_a_traceback_only_with_debug(cluster, gantt):
    cluster.claims.claims["a"] = None  # causes a TypeError in the double
    result = gantt("claim", "list")
    assert result.code == 1
    assert "Traceback" not in result.err
    assert "TypeError" in result.err
    assert "Traceback" in gantt("--debug", "claim", "list").err


def test_quiet_suppresses_messages(cluster, gantt):
    assert gantt("-q", "boot", "--flavor", "m1.tiny", "-f", "value", "-c", "status").err == ""


def test_exit_code_of_a_command_is_that_of_its_verdict(cluster, gantt):
    cluster.claims.problems = ["used of host1 is 3, its claims sum to 2"]
    assert gantt("claim", "verify").code != 0


@pytest.mark.parametrize(("formatter", "text"), [("csv", '"name"\n""\n'), ("value", "\n")])
def test_missing_value_is_empty_where_the_format_has_no_null(cluster, gantt, formatter, text):
    cluster.conductor.instances["a"] = doubles.instance("a", name=None)
    assert gantt("server", "list", "-f", formatter, "-c", "name").out == text
    assert gantt("server", "list", "-f", "json", "-c", "name").json == [{"name": None}]


def test_missing_field_of_one_object_is_empty_where_the_format_has_no_null(cluster, gantt):
    cluster.conductor.instances["a"] = doubles.instance("a", name=None)
    assert gantt("server", "show", "a", "-f", "value", "-c", "name").out == "\n"
    assert gantt("server", "show", "a", "-f", "json", "-c", "name").json == {"name": None}
