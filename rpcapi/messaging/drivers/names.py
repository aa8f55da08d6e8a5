# SPDX-License-Identifier: Apache-2.0
"""Redis keys of the bus. Keys of lists name the user who may append, see rpcapi/access/bus_users.py."""

PREFIX = "gantt_bus"
BODIES = ":bodies"  # suffix of the list of messages of a queue; each begins with its delivery tag
SERVER_QUEUES = f"{PREFIX}:server:"


def topic_queue(sender: str, exchange: str, topic: str) -> str:
    """List of bells: a user's requests to any server of the topic."""
    return f"{PREFIX}:topic:{sender}:{exchange}:{topic}"


def server_queue(sender: str, exchange: str, topic: str, server: str) -> str:
    """Queue of a user's requests to one server of the topic; its bells are in the inbox of the server's process."""
    return f"{SERVER_QUEUES}{sender}:{exchange}:{topic}:{server}"


def server_process(exchange: str, topic: str, server: str) -> str:
    """String: the process that reads the requests to a server."""
    return f"{PREFIX}:process:{exchange}:{topic}:{server}"


def fanout_members(exchange: str, topic: str) -> str:
    """Sorted set: processes with servers of the topic, by last renewal (epoch seconds)."""
    return f"{PREFIX}:fanout:{exchange}:{topic}"


def process(user: str, random: str) -> str:
    return f"{user}:{random}"


def inbox(sender: str, reader: str) -> str:
    """List: replies, fan-out requests and bells from a user to one process."""
    return f"{PREFIX}:inbox:{sender}:{reader}"


def sender_of(queue: str) -> str:
    return queue.split(":", 3)[2]


def is_inbox(queue: str) -> bool:
    return queue.startswith(f"{PREFIX}:inbox:")


def receipt(queue: str, message_id: str) -> str:
    """String: exists for a short time after this message arrived in this queue."""
    return f"{PREFIX}:receipt:{sender_of(queue)}:{message_id}:{queue.removeprefix(PREFIX)}"


def received(user: str) -> str:
    """Hash: messages received by processes of this user, by delivery tag."""
    return f"{PREFIX}:received:{user}"


def received_index(user: str) -> str:
    """Sorted set: delivery tags of received messages, by last renewal (epoch seconds)."""
    return f"{PREFIX}:received_index:{user}"


def dead_letters(user: str) -> str:
    """List: dead letters of this user's processes."""
    return f"{PREFIX}:dead_letters:{user}"
