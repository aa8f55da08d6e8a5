# SPDX-License-Identifier: Apache-2.0
"""The daemon gantt-conductor: what it runs, and configurations that it rejects."""

import pkgutil

import pytest
from oslo_config import cfg

from conductor import conf as conductor_conf
from conductor.cmd import conductor
from rpcapi import conf as rpc_conf
from rpcapi import errors


@pytest.fixture
def options(conf: cfg.ConfigOpts) -> cfg.ConfigOpts:
    rpc_conf.register_opts(conf)
    conductor_conf.register_opts(conf)
    return conf


def test_default_configuration_is_accepted(options: cfg.ConfigOpts) -> None:
    conductor.check(options)


@pytest.mark.parametrize(
    ("group", "values"),
    [
        ("conductor_store", {"url": "banana"}),
        ("service_group", {"driver": "tooz", "backend_url": "carrier-pigeon://"}),
    ],
)
def test_invalid_option_is_rejected_with_its_group(options: cfg.ConfigOpts, group: str, values: dict[str, str]) -> None:
    for name, value in values.items():
        options.set_override(name, value, group=group)
    with pytest.raises(errors.BadConfiguration, match=rf"\[{group}\]"):
        conductor.check(options)


def test_daemon_runs_an_existing_service_after_its_check(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []
    monkeypatch.setattr(conductor, "run", lambda *args, **options: calls.append((args, options)) or 7)
    assert conductor.main() == 7
    (((prog, make_service), options),) = calls
    assert prog == "gantt-conductor"
    assert pkgutil.resolve_name(make_service).__name__ == "make_service"
    assert options["check"] is conductor.check
