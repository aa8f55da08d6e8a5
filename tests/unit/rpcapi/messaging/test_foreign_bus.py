# SPDX-License-Identifier: Apache-2.0
"""Transports of the message buses of other software."""

import pytest

from rpcapi import errors
from rpcapi.messaging import foreign_bus


def test_transport_has_the_exchange_and_settings_of_that_bus():
    transport = foreign_bus.get_transport("rabbit://u:p@h/", "nova", threads=3, rabbit={"amqp_durable_queues": True})
    assert transport.conf.control_exchange == "nova"
    assert transport.conf.oslo_messaging_rabbit.amqp_durable_queues
    assert transport.conf.executor_thread_pool_size == 3
    other = foreign_bus.get_transport("rabbit://u:p@h/", "nova", threads=3)
    assert not other.conf.oslo_messaging_rabbit.amqp_durable_queues


@pytest.mark.parametrize("url", ["carrier://u:hidden@h/", "rabbit://u:hidden@h:port/"])
def test_url_without_a_driver_is_refused_without_its_password(url):
    with pytest.raises(errors.BadConfiguration, match=r"\[nova\] transport_url") as caught:
        foreign_bus.get_transport(url, "nova", threads=1, label="[nova] transport_url")
    assert "hidden" not in str(caught.value)


def test_bus_without_brokers_is_always_there():
    foreign_bus.probe(foreign_bus.get_transport("fake://", "nova", threads=1))
