# SPDX-License-Identifier: Apache-2.0
"""Writes of host state with retries after concurrent changes."""


def test_set_writes_json_and_text_after_version_conflicts(racks, gantt):
    racks.conflicts = 2
    result = gantt("state", "set", "rack", "h1", "watts=450", "note=some text", 'tags=["a"]', "--writer", "rackd")
    assert result.code == 0
    assert racks.state["rack"]["h1"] == {"power": "on", "watts": 450, "note": "some text", "tags": ["a"]}
    assert set(racks.writers) == {"rackd"}


def test_set_creates_a_document(racks, gantt):
    assert gantt("state", "set", "rack", "h3", "power=off").code == 0
    assert racks.state["rack"]["h3"] == {"power": "off"}


def test_set_fails_after_too_many_version_conflicts(racks, gantt):
    racks.conflicts = 99
    result = gantt("state", "set", "rack", "h1", "power=off")
    assert result.code == 1
    assert "read it again, then update" in result.err
