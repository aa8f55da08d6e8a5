# SPDX-License-Identifier: Apache-2.0
"""``gantt quota``."""

import pytest

pytestmark = pytest.mark.usefixtures("cluster")


def test_usage_and_limits_of_the_project_are_listed(gantt):
    assert gantt("--project", "small", "quota", "show", "-f", "json").json == [
        {"resource": "VCPU", "used": 0, "limit": 8},
        {"resource": "instances", "used": 3, "limit": None},
    ]


def test_table_shows_that_there_is_no_limit(gantt):
    assert "| instances |    3 | -" in gantt("quota", "show").out
