# SPDX-License-Identifier: Apache-2.0
"""How transports, clients and servers are made."""

from pathlib import Path

import pytest
from oslo_config import cfg

from rpcapi import bus, errors
from rpcapi.drivers import bounded_rabbit, scripts
from rpcapi.drivers import errors as bus_errors


def test_ours_are_the_defaults_and_the_operators_word_stands(conf: cfg.ConfigOpts) -> None:
    bus.register_opts(conf)
    conf.set_override("rabbit_qos_prefetch_count", 3, group="oslo_messaging_rabbit")
    bus.set_defaults(conf)
    assert conf.control_exchange == "gantt"
    assert conf.oslo_messaging_rabbit.rabbit_qos_prefetch_count == 3
    assert 0 < conf.oslo_messaging_rabbit.rabbit_interval_max <= 5


def test_options_are_registered_on_the_private_configuration_alone(conf: cfg.ConfigOpts) -> None:
    bus.set_defaults(conf)
    assert conf.gantt_bus.prefetch >= 1
    assert "gantt_bus" not in cfg.CONF


@pytest.mark.parametrize("url", ["//user:s3cret@host", "rabbit://user:s3cret/", "rabbit://user:s3cret@[::1/"])
def test_a_malformed_url_is_refused_without_being_shown(conf: cfg.ConfigOpts, url: str) -> None:
    with pytest.raises(errors.BadConfiguration, match="transport_url is malformed") as caught:
        bus.get_transport(conf, url)
    assert "s3cret" not in str(caught.value)
    assert caught.value.__suppress_context__, "a traceback would show the URL in the original error"


def test_an_unknown_driver_is_refused_with_the_known_ones_and_without_the_password(conf: cfg.ConfigOpts) -> None:
    with pytest.raises(errors.BadConfiguration, match=r"carrier-pigeon.*gantt-rabbit, gantt\+redis") as caught:
        bus.get_transport(conf, "carrier-pigeon://user:s3cret@host/")
    assert "s3cret" not in str(caught.value)
    assert caught.value.__suppress_context__


def test_an_option_in_the_url_that_is_none_is_named(conf: cfg.ConfigOpts) -> None:
    with pytest.raises(errors.BadConfiguration, match="colour") as caught:
        bus.get_transport(conf, "rabbit://user:s3cret@host/?colour=red")
    assert "s3cret" not in str(caught.value)


@pytest.mark.parametrize("scheme", ["rabbit", "gantt-rabbit"])
def test_either_driver_of_rabbitmq_is_one_with_bounds(conf: cfg.ConfigOpts, scheme: str) -> None:
    transport = bus.get_transport(conf, f"{scheme}://user:word@127.0.0.1/")
    assert isinstance(transport._driver, bounded_rabbit.BoundedRabbitDriver)


def test_an_installation_without_a_script_is_told_when_the_bus_is_opened(
    conf: cfg.ConfigOpts, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(scripts, "FOLDER", tmp_path)
    scripts.text.cache_clear()
    with pytest.raises(bus_errors.BusInstallationError, match=r"claim\.lua cannot be read.* Install gantt anew"):
        bus.get_transport(conf, "gantt+redis:///0?socket=/nowhere/redis.sock")


def test_every_script_is_read_when_the_bus_is_opened() -> None:
    assert {f"{verb}.lua" for verb in scripts.VERBS} == {file.name for file in scripts.FOLDER.glob("*.lua")}


def test_the_embedded_bus_is_found_by_its_entry_point(conf: cfg.ConfigOpts) -> None:
    transport = bus.get_transport(conf, "gantt+redis:///0?socket=/nowhere/redis.sock")
    assert type(transport._driver).__module__ == "rpcapi.drivers.redis_bus"
