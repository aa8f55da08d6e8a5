# SPDX-License-Identifier: Apache-2.0
"""The daemon gantt-compute: what it runs, and configurations that it rejects."""

import pkgutil

import pytest
from oslo_config import cfg

from compute_agent import conf as compute_conf
from compute_agent.cmd import compute
from rpcapi import conf as rpc_conf
from rpcapi import errors


@pytest.fixture
def options(conf: cfg.ConfigOpts) -> cfg.ConfigOpts:
    rpc_conf.register_opts(conf)
    compute_conf.register_opts(conf)
    return conf


def test_default_configuration_is_accepted(options: cfg.ConfigOpts) -> None:
    compute.check(options)


def test_invalid_hosts_are_rejected(options: cfg.ConfigOpts) -> None:
    options.set_override("hosts", ["a[3-1]"], group="compute")
    with pytest.raises(errors.BadConfiguration, match="range that is empty"):
        compute.check(options)


def test_service_group_without_a_known_backend_is_rejected(options: cfg.ConfigOpts) -> None:
    options.set_override("driver", "tooz", group="service_group")
    options.set_override("backend_url", "carrier-pigeon://", group="service_group")
    with pytest.raises(errors.BadConfiguration, match=r"\[service_group\]"):
        compute.check(options)


def test_daemon_runs_an_existing_service_after_its_check(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []
    monkeypatch.setattr(compute, "run", lambda *args, **options: calls.append((args, options)) or 7)
    assert compute.main() == 7
    (((prog, make_service), options),) = calls
    assert prog == "gantt-compute"
    assert pkgutil.resolve_name(make_service).__name__ == "make_service"
    assert options["check"] is compute.check
