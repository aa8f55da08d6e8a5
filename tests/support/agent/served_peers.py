# SPDX-License-Identifier: Apache-2.0
"""Fakes of the other services, served on the bus."""

from types import SimpleNamespace

import oslo_messaging as messaging

from rpcapi.clients.claims import topic
from rpcapi.messaging import bus
from rpcapi.serializer import GanttSerializer


class ServedPeers(SimpleNamespace):
    """The other services, served on the bus."""

    def start(self) -> "ServedPeers":
        self.transport = bus.get_transport(self.conf)
        for name, fake in (
            ("scheduler", self.scheduler),
            (topic("default"), self.ledger),
            ("conductor", self.conductor),
        ):
            server = bus.get_server(
                self.transport, messaging.Target(topic=name, server="double"), [fake], GanttSerializer()
            )
            server.start()
            self.servers.append(server)
        return self

    def stop(self) -> None:
        for server in self.servers:
            server.stop()
            server.wait()
