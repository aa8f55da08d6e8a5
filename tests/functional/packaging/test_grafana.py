# SPDX-License-Identifier: Apache-2.0
"""The dashboard for Grafana by Grafana's own types: what they do not know is lost when they read and write it."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from devstack.deploy.monitoring import dashboard
from tests.functional.packaging.programs import need_module

pytestmark = pytest.mark.packages

SDK = "grafana_foundation_sdk"


def rewrite(document: dict[str, Any]) -> dict[str, Any]:
    """Return a dashboard as Grafana's types write it after they have read it."""
    need_module(f"{SDK}.cog.plugins").register_default_plugins()
    read = need_module(f"{SDK}.models.dashboard").Dashboard.from_json(document)
    result: dict[str, Any] = json.loads(need_module(f"{SDK}.cog.encoder").JSONEncoder().encode(read))
    return result


def losses(document: Any, other: Any, path: str = "") -> Iterator[str]:
    """Yield the paths of the values of a document that another one does not have."""
    if isinstance(document, dict) and isinstance(other, dict):
        for name, value in document.items():
            yield from losses(value, other.get(name), f"{path}/{name}")
    elif isinstance(document, list) and isinstance(other, list) and len(document) == len(other):
        for number, value in enumerate(document):
            yield from losses(value, other[number], f"{path}/{number}")
    elif document != other:
        yield path


def test_grafana_knows_every_field_of_the_dashboard() -> None:
    document = json.loads(dashboard.PATH.read_text())

    assert list(losses(document, rewrite(document))) == []


def test_unknown_fields_are_noticed() -> None:
    document = json.loads(dashboard.PATH.read_text())
    panel = document["panels"][1]
    panel["heading"] = panel["title"]
    panel["targets"][0]["query"] = panel["targets"][0]["expr"]
    panel["fieldConfig"]["defaults"]["units"] = "s"

    assert set(losses(document, rewrite(document))) == {
        "/panels/1/heading",
        "/panels/1/targets/0/query",
        "/panels/1/fieldConfig/defaults/units",
    }
