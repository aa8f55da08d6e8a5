# SPDX-License-Identifier: Apache-2.0
"""All Redis keys of the bus."""

from rpcapi.messaging.drivers.transport import PREFIX
from rpcapi.messaging.drivers.wire import INBOX


def topic_queue(exchange: str, topic: str) -> str:
    """Return the key of a list: requests for any server of the topic."""
    return f"{PREFIX}:topic:{exchange}:{topic}"


def server_queue(exchange: str, topic: str, server: str) -> str:
    """Return the key of a list: requests for one server of the topic."""
    return f"{PREFIX}:server:{exchange}:{topic}:{server}"


def fanout_members(exchange: str, topic: str) -> str:
    """Return the key of a sorted set: inboxes with servers of the topic, by last renewal (epoch seconds)."""
    return f"{PREFIX}:fanout:{exchange}:{topic}"


def inbox(process: str) -> str:
    """Return the key of a list: replies and fan-out requests for one process."""
    return f"{INBOX}{process}"


def receipt(queue: str, message_id: str) -> str:
    """Return a short-lived key that exists once this message arrived in this queue."""
    return f"{PREFIX}:receipt:{message_id}:{queue.removeprefix(PREFIX)}"
