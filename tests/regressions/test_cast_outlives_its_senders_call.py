# SPDX-License-Identifier: Apache-2.0
"""Regression: an agent that was down for 20 s silently dropped the builds queued for it."""

import queue
import uuid
from typing import Any

import oslo_messaging as messaging
from oslo_config import cfg

from rpcapi import conf as rpc_conf
from rpcapi import context, objects
from rpcapi.clients.compute import ComputeAPI
from rpcapi.context import RequestContext
from rpcapi.endpoint import expose
from rpcapi.messaging import bus
from rpcapi.serializer import GanttSerializer


class Agent:
    target = messaging.Target(version="1.0")

    def __init__(self) -> None:
        self.came: queue.Queue[tuple[str, RequestContext]] = queue.Queue()

    @expose
    def terminate_instances(self, ctxt: RequestContext, refs: objects.ClaimRefs) -> None:
        self.came.put(("terminate_instances", ctxt))

    @expose
    def audit(self, ctxt: RequestContext, partition: str, epoch: int) -> None:
        self.came.put(("audit", ctxt))


def test_cast_is_executed_after_its_context_deadline(conf: cfg.ConfigOpts) -> None:
    rpc_conf.register_opts(conf)
    bus.set_defaults(conf)
    transport: Any = bus.get_transport(conf, f"fake://{uuid.uuid4().hex}/")
    agent = Agent()
    target = messaging.Target(topic="compute", server="alpha")
    server = bus.get_server(transport, target, [agent], GanttSerializer())
    server.start()
    try:
        # given a context whose deadline has passed by the time the message is read
        late = context.new("p", "u", deadline=1.0)
        compute = ComputeAPI(conf, transport)
        compute.terminate_instances(late, "alpha", objects.ClaimRefs.of(consumers=["a"], attempts=[1]))
        compute.audit(late, "default", 1)

        arrived = dict(agent.came.get(timeout=20) for _ in range(2))
    finally:
        server.stop()
        server.wait()
    assert sorted(arrived) == ["audit", "terminate_instances"]
    assert {ctxt.request_id for ctxt in arrived.values()} == {late.request_id}
    assert late.deadline == 1.0
