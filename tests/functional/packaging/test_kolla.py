# SPDX-License-Identifier: Apache-2.0
"""Kolla's configuration of each service: what its container copies and runs, by Kolla's own check."""

import importlib.resources
import importlib.util
import json
import shlex
from types import ModuleType
from typing import Any

import pytest
from jinja2 import StrictUndefined, meta
from jinja2.sandbox import SandboxedEnvironment

from devstack.deploy.packaging import checkout
from devstack.deploy.packaging.debian_packages import SERVICES, UNITS
from tests.functional.packaging.programs import need_module

FOLDER = checkout.ROOT / "devstack/deploy/packaging/kolla"
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


def template() -> str:
    return (FOLDER / "Dockerfile.j2").read_text()


def test_image_is_made_of_the_packages_on_the_base_image() -> None:
    values = {"namespace": "kolla", "image_prefix": "debian-", "tag": "1", "maintainer": "m", "image_name": "gantt"}

    lines = SandboxedEnvironment(undefined=StrictUndefined).from_string(template()).render(values).splitlines()

    assert [line for line in lines if line.startswith(("FROM ", "COPY "))] == [
        "FROM kolla/debian-base:1",
        "COPY *.deb /tmp/gantt/",
    ]
    assert 'LABEL maintainer="m" name="gantt"' in lines


@pytest.mark.packages
def test_kolla_has_a_value_for_each_variable_of_the_image() -> None:
    package = need_module("kolla")
    worker = (importlib.resources.files(package) / "image" / "kolla_worker.py").read_text()

    variables = meta.find_undeclared_variables(SandboxedEnvironment().parse(template()))

    assert variables
    assert [name for name in variables if f"'{name}': " not in worker] == []
