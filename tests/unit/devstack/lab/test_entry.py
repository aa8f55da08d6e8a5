# SPDX-License-Identifier: Apache-2.0
"""The console script gantt-lab."""

import importlib.util
import pkgutil

import pytest

from devstack.lab import entry


def test_script_runs_the_lab(monkeypatch):
    names = []
    monkeypatch.setattr(pkgutil, "resolve_name", lambda name: names.append(name) or (lambda: 3))
    assert (entry.main(), names) == (3, ["devstack.lab.main:main"])


@pytest.mark.parametrize("package", ["numpy", "redis", "jsonschema", "tqdm"])
def test_missing_package_names_the_extra(monkeypatch, capsys, package):
    find_spec = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == package else find_spec(name))
    assert entry.main() == 1
    assert capsys.readouterr().err == f"gantt-lab: {package} is not installed; run: pip install 'gantt[lab]'\n"
