# SPDX-License-Identifier: Apache-2.0
"""Creation of transports."""

import pytest
from oslo_config import cfg

from rpcapi import errors
from rpcapi.messaging import bus
from rpcapi.messaging.drivers import confined_rabbit


def test_defaults_are_set_and_operator_overrides_win(conf: cfg.ConfigOpts) -> None:
    bus.set_rabbit_defaults(conf)
    conf.set_override("rabbit_qos_prefetch_count", 3, group="oslo_messaging_rabbit")
    bus.get_transport(conf, "rabbit://host/").cleanup()
    assert conf.control_exchange == "gantt"
    assert conf.oslo_messaging_rabbit.rabbit_qos_prefetch_count == 3
    assert 0 < conf.oslo_messaging_rabbit.rabbit_interval_max <= 5


def test_each_thread_of_an_executor_has_a_connection_for_its_answer(conf: cfg.ConfigOpts) -> None:
    bus.set_defaults(conf)
    conf.set_override("executor_thread_pool_size", 5)
    bus.set_rabbit_defaults(conf)
    assert conf.oslo_messaging_rabbit.rpc_conn_pool_size == 5


def test_options_are_registered_only_on_the_private_configuration(conf: cfg.ConfigOpts) -> None:
    bus.set_defaults(conf)
    assert conf.gantt_bus.prefetch >= 1
    assert "gantt_bus" not in cfg.CONF


@pytest.mark.parametrize("url", ["//user:s3cret@host", "rabbit://user:s3cret/", "rabbit://user:s3cret@[::1/"])
def test_malformed_url_is_rejected_without_credentials(conf: cfg.ConfigOpts, url: str) -> None:
    with pytest.raises(errors.BadConfiguration, match="transport_url is malformed") as raised:
        bus.get_transport(conf, url)
    assert "s3cret" not in str(raised.value)
    assert raised.value.__suppress_context__, "a traceback would show the URL in the original error"


def test_unknown_driver_is_rejected_with_the_known_drivers(conf: cfg.ConfigOpts) -> None:
    with pytest.raises(errors.BadConfiguration, match=r"carrier-pigeon.*gantt-rabbit, gantt\+redis") as raised:
        bus.get_transport(conf, "carrier-pigeon://user:s3cret@host/")
    assert "s3cret" not in str(raised.value)
    assert raised.value.__suppress_context__


def test_unknown_option_in_the_url_is_named(conf: cfg.ConfigOpts) -> None:
    with pytest.raises(errors.BadConfiguration, match="colour") as raised:
        bus.get_transport(conf, "rabbit://user:s3cret@host/?colour=red")
    assert "s3cret" not in str(raised.value)


@pytest.mark.parametrize("scheme", ["rabbit", "gantt-rabbit"])
def test_both_rabbitmq_drivers_have_bounded_waits(conf: cfg.ConfigOpts, scheme: str) -> None:
    transport = bus.get_transport(conf, f"{scheme}://user:word@127.0.0.1/")
    assert isinstance(transport._driver, confined_rabbit.ConfinedRabbitDriver)
