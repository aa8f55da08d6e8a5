# SPDX-License-Identifier: Apache-2.0
"""``gantt host enable`` and ``disable``."""


def test_disable_and_enable_retry_version_conflicts(hosts, gantt):
    hosts.conflicts = 2
    assert gantt("host", "disable", "host1", "--reason", "new disk").code == 0
    assert hosts.state["service"]["host1"]["disabled_reason"] == "new disk"
    assert hosts.state["service"]["host1"]["enabled"] is False
    assert gantt("host", "enable", "host1").code == 0
    assert hosts.state["service"]["host1"]["disabled_reason"] is None
    assert hosts.state["service"]["host1"]["enabled"] is True
    assert set(hosts.writers) == {"gantt"}


def test_enable_fails_after_too_many_version_conflicts(hosts, gantt):
    hosts.conflicts = 99
    result = gantt("host", "enable", "host1")
    assert result.code == 1
    assert "read it again, then update" in result.err


def test_disable_requires_a_reason(hosts, gantt):
    assert gantt("host", "disable", "host1").code == 2
