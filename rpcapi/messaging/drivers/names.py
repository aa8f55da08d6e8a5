# SPDX-License-Identifier: Apache-2.0
"""All Redis keys of the bus. Lists of messages name the user who may append to them: see rpcapi/access/bus_users.py."""

PREFIX = "gantt_bus"
BODIES = ":bodies"  # after the key of a queue: its messages, which begin with their delivery tags
SERVER_QUEUES = f"{PREFIX}:server:"


def topic_queue(sender: str, exchange: str, topic: str) -> str:
    """Return the key of a list: bells of a user's requests for any server of the topic."""
    return f"{PREFIX}:topic:{sender}:{exchange}:{topic}"


def server_queue(sender: str, exchange: str, topic: str, server: str) -> str:
    """Return the name of a user's requests for one server of the topic; their bells are in its process's inbox."""
    return f"{SERVER_QUEUES}{sender}:{exchange}:{topic}:{server}"


def server_process(exchange: str, topic: str, server: str) -> str:
    """Return the key of a string: the process that reads the requests for a server."""
    return f"{PREFIX}:process:{exchange}:{topic}:{server}"


def fanout_members(exchange: str, topic: str) -> str:
    """Return the key of a sorted set: processes with servers of the topic, by last renewal (epoch seconds)."""
    return f"{PREFIX}:fanout:{exchange}:{topic}"


def process(user: str, random: str) -> str:
    """Return the name of a user's process."""
    return f"{user}:{random}"


def inbox(sender: str, reader: str) -> str:
    """Return the key of a list: replies, fan-out requests and bells from a user for one process."""
    return f"{PREFIX}:inbox:{sender}:{reader}"


def sender_of(queue: str) -> str:
    """Return the user who may append to a queue or an inbox."""
    return queue.split(":", 3)[2]


def is_inbox(queue: str) -> bool:
    """Return whether this is the key of an inbox."""
    return queue.startswith(f"{PREFIX}:inbox:")


def receipt(queue: str, message_id: str) -> str:
    """Return a short-lived key that exists once this message arrived in this queue."""
    return f"{PREFIX}:receipt:{sender_of(queue)}:{message_id}:{queue.removeprefix(PREFIX)}"


def received(user: str) -> str:
    """Return the key of a hash: messages that processes of this user have received, by delivery tag."""
    return f"{PREFIX}:received:{user}"


def received_index(user: str) -> str:
    """Return the key of a sorted set: delivery tags of received messages, by last renewal (epoch seconds)."""
    return f"{PREFIX}:received_index:{user}"


def dead_letters(user: str) -> str:
    """Return the key of a list: messages that processes of this user could not process."""
    return f"{PREFIX}:dead_letters:{user}"
