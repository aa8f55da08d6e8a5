# SPDX-License-Identifier: Apache-2.0
"""Kolla's configuration of each service: what its container copies and runs, by Kolla's own check."""

import importlib.resources
import importlib.util
import json
import shlex
from types import ModuleType
from typing import Any

import pytest

from devstack.packaging import checkout
from devstack.packaging.debian_packages import SERVICES, UNITS
from tests.functional.packaging.programs import need_module

FOLDER = checkout.ROOT / "devstack/packaging/kolla"
SOURCES = "/var/lib/kolla/config_files/"


def read(name: str) -> dict[str, Any]:
    return json.loads((FOLDER / f"gantt-{name}.json").read_text())


def set_configs() -> ModuleType:
    """Return the program of Kolla's images that reads config.json, as a module."""
    package = need_module("kolla")
    path = importlib.resources.files(package) / "docker" / "base" / "set_configs.py"
    spec = importlib.util.spec_from_file_location("set_configs", str(path))
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_service_has_a_configuration() -> None:
    assert {path.stem for path in FOLDER.glob("*.json")} == {f"gantt-{name}" for name in SERVICES}


@pytest.mark.parametrize("name", SERVICES)
def test_container_runs_what_the_unit_runs_with_the_files_that_it_copies(name: str) -> None:
    config, service = read(name), f"gantt-{name}"
    (unit,) = [path for path in (checkout.ROOT / UNITS).glob("*.service") if path.stem.rstrip("@") == service]
    program, *arguments = shlex.split(config["command"])

    assert f"ExecStart={program} " in unit.read_text()
    copies = {item["dest"]: item for item in config["config_files"]}
    assert arguments[::2] == ["--config-file"] * 2
    assert set(arguments[1::2]) == set(copies)
    for path, item in copies.items():
        assert item["source"] == SOURCES + path.rpartition("/")[2]
        assert item["owner"] == service
    assert copies[f"/etc/gantt/{service}.secrets.conf"]["perm"] == "0400"


@pytest.mark.packages
@pytest.mark.parametrize("name", SERVICES)
def test_kolla_accepts_the_configuration(name: str) -> None:
    set_configs().validate_config(read(name))


@pytest.mark.packages
def test_kolla_refuses_a_configuration_without_a_source() -> None:
    kolla, config = set_configs(), read("scheduler")
    del config["config_files"][0]["source"]

    with pytest.raises(kolla.InvalidConfig):
        kolla.validate_config(config)
