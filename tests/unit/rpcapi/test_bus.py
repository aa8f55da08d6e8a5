# SPDX-License-Identifier: Apache-2.0
"""How transports, clients and servers are made."""

import oslo_messaging
import pytest
from oslo_config import cfg

from rpcapi import bus


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
    with pytest.raises(oslo_messaging.InvalidTransportURL, match="malformed") as caught:
        bus.get_transport(conf, url)
    assert "s3cret" not in f"{caught.value} {caught.value.url}"
    assert caught.value.__suppress_context__, "a traceback would show the URL in the original error"


def test_an_unknown_driver_is_refused_without_showing_the_password(conf: cfg.ConfigOpts) -> None:
    with pytest.raises(oslo_messaging.DriverLoadFailure, match="carrier-pigeon") as caught:
        bus.get_transport(conf, "carrier-pigeon://user:s3cret@host/")
    assert "s3cret" not in str(caught.value)


def test_the_embedded_bus_is_found_by_its_entry_point(conf: cfg.ConfigOpts) -> None:
    transport = bus.get_transport(conf, "gantt+redis:///0?socket=/nowhere/redis.sock")
    assert type(transport._driver).__module__ == "rpcapi.drivers.redis_bus"
