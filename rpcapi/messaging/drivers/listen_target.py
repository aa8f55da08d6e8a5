# SPDX-License-Identifier: Apache-2.0
"""Redis keys from which a server of the embedded bus reads."""

from dataclasses import dataclass

from oslo_messaging import Target

from rpcapi.access import broker_users
from rpcapi.access.senders import DIRECTED_SERVICES
from rpcapi.messaging.drivers import redis_keys


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
        callers = broker_users.callers_of(topic)
        sharing_callers = () if topic in DIRECTED_SERVICES else callers
        return cls(
            topic,
            tuple(redis_keys.topic_queue(caller, exchange, topic) for caller in sharing_callers),
            tuple(redis_keys.server_queue(caller, exchange, topic, server) for caller in callers),
            redis_keys.fanout_members(exchange, topic),
            redis_keys.server_process(exchange, topic, server),
            f"{topic}.{server}",
        )
