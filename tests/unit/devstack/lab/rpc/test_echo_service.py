# SPDX-License-Identifier: Apache-2.0
"""The echo service on an in-process bus."""

import uuid

import oslo_messaging as messaging

from devstack.lab.rpc.echo_service import TOPIC, make_service
from rpcapi.messaging import bus


def test_call_is_answered_until_the_service_stops(conf):
    bus.set_defaults(conf)
    conf.set_override("transport_url", "fake://")
    conf.set_override("control_exchange", uuid.uuid4().hex)  # all fake transports of a process share their exchanges
    conf.set_override("executor_thread_pool_size", 2)
    service = make_service(conf, 0)
    service.start()
    client = bus.get_client(service._transport, messaging.Target(topic=TOPIC, version="1.0"), timeout=20)
    assert client.call({}, "echo") is None
    service.reset()
    service.stop()
    service.wait()
