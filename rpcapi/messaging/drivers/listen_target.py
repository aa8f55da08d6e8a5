# SPDX-License-Identifier: Apache-2.0
"""Queues of an RPC server on the embedded bus."""

from dataclasses import dataclass

from oslo_messaging import Target

from rpcapi.access import bus_users
from rpcapi.access.senders import DIRECTED_SERVICES
from rpcapi.messaging.drivers import names


@dataclass(frozen=True)
class ListenTarget:
    """Queues of a server, one per permitted caller, with its fan-out, process key and log label."""

    topic: str
    topic_queues: tuple[str, ...]
    server_queues: tuple[str, ...]
    fanout: str
    process_key: str
    label: str

    @classmethod
    def of(cls, target: Target, exchange: str) -> "ListenTarget":
        topic, server = target.topic, target.server
        callers = bus_users.callers_of(topic)
        sharing_callers = () if topic in DIRECTED_SERVICES else callers
        return cls(
            topic,
            tuple(names.topic_queue(caller, exchange, topic) for caller in sharing_callers),
            tuple(names.server_queue(caller, exchange, topic, server) for caller in callers),
            names.fanout_members(exchange, topic),
            names.server_process(exchange, topic, server),
            f"{topic}.{server}",
        )
