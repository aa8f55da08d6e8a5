# SPDX-License-Identifier: Apache-2.0
"""Redis keys of the embedded bus. Names of lists contain the user who may append."""

PREFIX = "gantt_bus"
BODIES = ":bodies"  # suffix of a queue's list of messages, which begin with their delivery tags
SERVER_QUEUES = f"{PREFIX}:server:"


def topic_queue(sender: str, exchange: str, topic: str) -> str:
    """Return the list of a user's bells for any server of a topic."""
    return f"{PREFIX}:topic:{sender}:{exchange}:{topic}"


def server_queue(sender: str, exchange: str, topic: str, server: str) -> str:
    """Return the queue of a user's requests to one server, whose process has the bells in its inbox."""
    return f"{SERVER_QUEUES}{sender}:{exchange}:{topic}:{server}"


def server_process(exchange: str, topic: str, server: str) -> str:
    return f"{PREFIX}:process:{exchange}:{topic}:{server}"


def fanout_members(exchange: str, topic: str) -> str:
    """Return the sorted set of a topic's processes by time of renewal (Unix seconds)."""
    return f"{PREFIX}:fanout:{exchange}:{topic}"


def process(user: str, random: str) -> str:
    return f"{user}:{random}"


def inbox(sender: str, reader: str) -> str:
    """Return the list of replies, fan-out requests and bells from a user to one process."""
    return f"{PREFIX}:inbox:{sender}:{reader}"


def sender_of(queue: str) -> str:
    return queue.split(":", 3)[2]


def is_inbox(queue: str) -> bool:
    return queue.startswith(f"{PREFIX}:inbox:")


def receipt(queue: str, message_id: str) -> str:
    """Return the key that exists for RECEIPT_SECONDS after a message arrived."""
    return f"{PREFIX}:receipt:{sender_of(queue)}:{message_id}:{queue.removeprefix(PREFIX)}"


def received(user: str) -> str:
    """Return the hash of unacknowledged messages of a user's processes by delivery tag."""
    return f"{PREFIX}:received:{user}"


def received_index(user: str) -> str:
    """Return the sorted set of the same delivery tags by time of renewal (Unix seconds)."""
    return f"{PREFIX}:received_index:{user}"


def dead_letters(user: str) -> str:
    return f"{PREFIX}:dead_letters:{user}"
