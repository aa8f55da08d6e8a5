# SPDX-License-Identifier: Apache-2.0
"""docs/plugins.md lists exactly what plugins may read."""

import dataclasses
import re
from pathlib import Path

import pytest

from scheduler_svc.core.plugins.host_state import PluginHostState, PluginRequestSpec
from scheduler_svc.core.request import SchedulingRequest
from tests.support.scheduler.hosts import node, request, table

PAGE = (Path(__file__).resolve().parents[5] / "docs" / "plugins.md").read_text()
ROW = re.compile(r"^\| ((?:`[^`]+`(?:, )?)+) \|", re.MULTILINE)
# Public members that only decisions use: limits and positions of a decision in progress, and rows of the search.
INTERNAL = {
    "view": {
        *("all_trees", "instance_limits", "names", "rows", "with_instance_limits"),
        *("with_facts_of", "rows_with_facts", "set_aside", "rows_set_aside"),
        *("log_positions", "partition_numbers", "usage_position", "counted_claims"),
    },
    "view.hosts": {"resources", "traits", "can_hold"},
    "view.trees": {
        *("hosts", "forests", "forest", "sharing_rows", "find_sharing_rows", "served_by"),
        *("sharing_children", "find_sharing_children", "served_by_child", "any_other", "roots_only"),
    },
    "view.aggregates": {"in_zone"},
}
INTERNAL_FIELDS = {"driver", "group", "decision"}  # the choice of the driver, and what the scheduler adds
GROUPS = ("hosts", "trees", "services", "aggregates", "facts")


def documented():
    """Return the documented members by object, from the tables of the page."""
    members = {}
    for block in re.findall(r"(?:^\|.*\n)+", PAGE, re.MULTILINE):
        heading = re.match(r"\| `([\w.]+)\.` \|", block)
        for cell in ROW.findall(block):
            owner = heading and heading.group(1)
            names = re.findall(r"`(\w+)(?:\([^`]*\))?`", cell)
            if owner and names:
                members.setdefault(owner, set()).update(names)
    return members


def public(thing):
    return {name for name in dir(thing) if not name.startswith("_")}


@pytest.mark.parametrize("group", GROUPS)
def test_page_lists_the_members_of_each_group_of_the_view(group):
    with table({"a": node()}).reading() as view:
        expected = public(getattr(view, group)) - INTERNAL.get(f"view.{group}", set())
    assert documented()[f"view.{group}"] == expected


def test_page_lists_the_members_of_the_view():
    with table({"a": node()}).reading() as view:
        assert documented()["view"] == public(view) - INTERNAL["view"]
        assert set(GROUPS) < documented()["view"]


def test_page_lists_the_attributes_of_plugins_in_novas_style():
    with table({"a": node()}).reading() as view:
        assert documented()["host_state"] == public(PluginHostState(view, 0, {}))
    assert documented()["spec_obj"] == public(PluginRequestSpec(request()))


def test_page_lists_the_fields_of_the_request():
    fields = {field.name for field in dataclasses.fields(SchedulingRequest)}
    assert documented()["request"] == fields - INTERNAL_FIELDS
    assert fields > INTERNAL_FIELDS


def test_internal_members_exist():
    with table({"a": node()}).reading() as view:
        for owner, names in INTERNAL.items():
            group = owner.partition(".")[2]
            assert names <= public(getattr(view, group) if group else view)
