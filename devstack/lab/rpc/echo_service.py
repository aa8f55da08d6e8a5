# SPDX-License-Identifier: Apache-2.0
"""Worker of the echo service: an oslo.messaging server without code of gantt above the bus."""

from typing import Any

import oslo_messaging as messaging
from oslo_config import cfg

from rpcapi.messaging import bus

TOPIC = "echo"


class EchoEndpoint:
    target = messaging.Target(version="1.0")

    @messaging.expose
    def echo(self, ctxt: dict[str, Any]) -> None:
        """Answer with nothing."""


class EchoService:
    """Service of one echo worker."""

    def __init__(self, conf: cfg.ConfigOpts, worker_index: int) -> None:
        self._transport = bus.get_transport(conf)
        target = messaging.Target(topic=TOPIC, server=f"echo:{worker_index}")
        self._server = bus.get_server(self._transport, target, [EchoEndpoint()])

    def start(self) -> None:
        self._server.start()

    def stop(self) -> None:
        self._server.stop()

    def wait(self) -> None:
        self._server.wait()
        self._transport.cleanup()

    def reset(self) -> None:
        """Do nothing, because there is no configuration to reload."""


def make_service(conf: cfg.ConfigOpts, worker_index: int) -> EchoService:
    return EchoService(conf, worker_index)
