# SPDX-License-Identifier: Apache-2.0
"""Installed entry points of plugins."""

import importlib.metadata

import pytest

from rpcapi import errors
from scheduler_svc.core.plugins import entry_points


def test_installed_entry_points_are_found_by_group_and_name_without_importing_them(plugin_installer):
    plugin_installer.install("raise RuntimeError('imported')", {"F": "x", "G": "x"}, {"W": "x"})
    assert {"F", "G"} <= entry_points.installed(entry_points.FILTERS).keys()
    assert "W" not in entry_points.installed(entry_points.FILTERS)
    (point,) = entry_points.installed(entry_points.WEIGHERS)["W"]
    assert entry_points.source(point) == "acme 1.2"


def test_entry_point_without_distribution_has_an_unknown_source():
    point = importlib.metadata.EntryPoint("F", "module:x", entry_points.FILTERS)
    assert entry_points.source(point) == "an unknown distribution"


def test_enabled_entry_points_are_in_the_order_of_the_names(plugin_installer):
    plugin_installer.install("", {"F": "x", "G": "x", "H": "x"})
    points = entry_points.enabled(["BuiltIn", "H", "F", "H", "Unknown"], entry_points.FILTERS, ["BuiltIn"])
    assert [point.name for point in points] == ["H", "F"]


def test_name_of_a_built_in_filter_is_ambiguous_only_if_it_is_enabled(plugin_installer):
    plugin_installer.install("", {"BuiltIn": "x"})
    assert entry_points.enabled(["Other"], entry_points.FILTERS, ["BuiltIn"]) == []
    with pytest.raises(errors.BadConfiguration, match=r"'BuiltIn' is in acme 1.2 and in gantt itself: uninstall one"):
        entry_points.enabled(["BuiltIn"], entry_points.FILTERS, ["BuiltIn"])


def test_name_in_two_distributions_is_ambiguous(plugin_installer):
    plugin_installer.install("", {"F": "x"})
    plugin_installer.install("", {"F": "x"}, dist="other")
    why = r"'F' is in (acme 1.2 and in other|other 1.2 and in acme) 1.2: uninstall one"
    with pytest.raises(errors.BadConfiguration, match=why):
        entry_points.enabled(["F"], entry_points.FILTERS, [])
