# SPDX-License-Identifier: Apache-2.0
"""One worker of the echo service: oslo.messaging's server, and nothing of ours above the bus."""

from typing import Any

import oslo_messaging as messaging
from oslo_config import cfg

from rpcapi import bus

TOPIC = "echo"


class Echo:
    """Answers an empty call with nothing."""

    target = messaging.Target(version="1.0")

    @messaging.expose
    def echo(self, ctxt: dict[str, Any]) -> None:
        """Answer."""


class EchoService:
    """The protocol is rpcapi.daemon's."""

    def __init__(self, conf: cfg.ConfigOpts, worker_index: int) -> None:
        self._transport = bus.get_transport(conf)
        target = messaging.Target(topic=TOPIC, server=f"echo:{worker_index}")
        self._server = bus.get_server(self._transport, target, [Echo()])

    def start(self) -> None:
        """Serve."""
        self._server.start()

    def stop(self) -> None:
        """Take no more."""
        self._server.stop()

    def wait(self) -> None:
        """Return when what was taken is answered."""
        self._server.wait()
        self._transport.cleanup()

    def reset(self) -> None:
        """Have nothing to read anew."""


def make_service(conf: cfg.ConfigOpts, worker_index: int) -> EchoService:
    """Make the service of one worker process."""
    return EchoService(conf, worker_index)
