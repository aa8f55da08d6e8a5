# SPDX-License-Identifier: Apache-2.0
"""The keys of the bus, all of them."""

from rpcapi.drivers.transport import PREFIX


def topic_queue(exchange: str, topic: str) -> str:
    """A list: requests that any server of the topic may take."""
    return f"{PREFIX}:topic:{exchange}:{topic}"


def server_queue(exchange: str, topic: str, server: str) -> str:
    """A list: requests to one server of the topic."""
    return f"{PREFIX}:server:{exchange}:{topic}:{server}"


def fanout_members(exchange: str, topic: str) -> str:
    """A sorted set: the processes with servers of the topic, by when they last said so (epoch seconds)."""
    return f"{PREFIX}:fanout:{exchange}:{topic}"


def inbox(process: str) -> str:
    """A list: answers and fanned-out requests for one process."""
    return f"{PREFIX}:inbox:{process}"


def receipt(queue: str, message_id: str) -> str:
    """A short-lived key: this message arrived in this queue."""
    return f"{PREFIX}:receipt:{message_id}:{queue.removeprefix(PREFIX)}"
