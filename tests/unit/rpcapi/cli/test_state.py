# SPDX-License-Identifier: Apache-2.0
"""``gantt state``."""

import pytest


def list_names(gantt, *arguments):
    return [row["name"] for row in gantt("state", "list", "rack", "-f", "json", *arguments).json]


def test_list_shows_each_document(racks, gantt):
    rows = gantt("state", "list", "rack", "-f", "json").json
    assert [row["name"] for row in rows] == ["h1", "h1/n1", "h2"]
    assert rows[0]["document"] == {"power": "on", "watts": 300}
    assert "watts: 300" in gantt("state", "list", "rack").out


def test_table_shows_values_as_set_takes_them(racks, gantt):
    racks.state["rack"]["h1"] = {"note": None, "lit": True, "tags": ["a"], "free": "some text", "seven": "7"}
    columns = gantt("state", "show", "rack", "h1").out
    for line in ("note: null", "lit: true", 'tags: ["a"]', "free: some text", 'seven: "7"'):
        assert line in columns


def test_list_is_filtered_by_the_scheduler(racks, gantt):
    assert list_names(gantt, "--match", "power=on") == ["h1", "h2"]
    assert list_names(gantt, "--match", "power=on", "--match", "row=7") == ["h2"]
    assert list_names(gantt, "--host", "h1", "--match", "power=off") == ["h1/n1"]


def test_show_prints_one_document(racks, gantt):
    columns = gantt("state", "show", "rack", "h2", "-f", "json").json
    assert (columns["name"], columns["version"], columns["document"]) == ("h2", 1, {"power": "on", "row": 7})
    result = gantt("state", "show", "rack", "h9")
    assert (result.code, result.err) == (1, "Unknown host or node 'h9'; see 'gantt host list'\n")


def test_delete_is_idempotent(racks, gantt):
    assert gantt("state", "delete", "rack", "h2", "--writer", "rackd").code == 0
    assert "h2" not in racks.state["rack"]
    assert gantt("state", "delete", "rack", "h2").code == 0


@pytest.mark.parametrize("pair", ["power", "=on"])
def test_malformed_pair_is_rejected(racks, gantt, pair):
    result = gantt("state", "set", "rack", "h1", pair)
    assert result.code == 2
    assert "is not KEY=VALUE" in result.err
