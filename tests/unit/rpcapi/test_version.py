# SPDX-License-Identifier: Apache-2.0
"""The version of gantt."""

import importlib.metadata

import pytest

from rpcapi import version


def test_version_is_that_of_the_installed_distribution(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.metadata, "version", {"gantt": "1.2.3"}.__getitem__)
    assert version.installed_version() == "1.2.3"


def test_source_tree_has_no_version(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> str:
        raise importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(importlib.metadata, "version", missing)
    assert version.installed_version() == "unknown"
