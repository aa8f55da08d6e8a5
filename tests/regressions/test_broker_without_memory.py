# SPDX-License-Identifier: Apache-2.0
"""Calls end at their deadline while RabbitMQ's memory alarm blocks all that publish.

While the alarm lasts, the broker accepts connections, reads nothing that they publish and confirms no message. Its
heartbeats go on.
"""

import threading
import uuid
from collections.abc import Iterator

import oslo_messaging
import pytest
from oslo_config import cfg

from devstack.servers.rabbitmq import RabbitNode
from rpcapi import conf as rpc_conf
from rpcapi import context, errors, objects
from rpcapi.clients.conductor import ConductorAPI
from rpcapi.clients.scheduler import SchedulerAPI
from rpcapi.messaging import bus
from tests.support.servers import running

pytestmark = pytest.mark.long  # Only a real broker has the alarm.

# Long enough for several heartbeats of the broker.
CALL_SECONDS = 20.0
PATIENCE_SECONDS = 30.0
SPEC = objects.RequestSpec.of(resources={"VCPU": 1})


@pytest.fixture(scope="module")
def alarmed_node() -> Iterator[RabbitNode]:
    """A node that always has less memory than its alarm demands."""
    with running(lambda folder: RabbitNode(folder, settings=["vm_memory_high_watermark.absolute = 1"])) as node:
        yield node


@pytest.fixture
def conf() -> cfg.ConfigOpts:
    conf = cfg.ConfigOpts()
    rpc_conf.register_opts(conf)
    conf([], project="gantt", default_config_files=[], default_config_dirs=[])
    conf.set_override("call_timeout", CALL_SECONDS, group="rpc")
    return conf


@pytest.mark.parametrize("method", ["list_partitions", "build_instances"])
def test_call_ends_at_its_deadline(alarmed_node: RabbitNode, conf: cfg.ConfigOpts, method: str) -> None:
    transport = bus.get_transport(conf, alarmed_node.url("operator"))
    failures: list[Exception] = []

    def call() -> None:
        try:
            if method == "list_partitions":
                SchedulerAPI(conf, transport).list_partitions(context.new())
            else:
                ConductorAPI(conf, transport).build_instances(context.new("p", "u"), SPEC, [str(uuid.uuid4())])
        except (oslo_messaging.MessagingException, errors.GanttError) as error:
            failures.append(error)
        transport.cleanup()

    thread = threading.Thread(target=call, daemon=True)
    thread.start()
    thread.join(PATIENCE_SECONDS)
    assert failures, "it still waits for the broker"
    assert not thread.is_alive(), "it still waits for the end of its connections"
