# SPDX-License-Identifier: Apache-2.0
"""The dead letters of the embedded bus: a bounded list of received messages that cannot be processed."""

import json
import time
from dataclasses import asdict, dataclass
from typing import Any

KEY = "gantt_bus:dead_letters"
MAX_LETTERS = 100
MAX_TEXT = 1000  # characters of a message that are kept
MAX_REASON = 200  # characters
SECONDS = 7 * 24 * 3600  # the list expires so long after its last letter


@dataclass(frozen=True)
class DeadLetter:
    """A message of ``size`` bytes, of which ``text`` is the beginning; ``received_at`` is Unix time in seconds."""

    queue: str
    reason: str
    size: int
    text: str
    received_at: int


def write(client: Any, queue: str, body: bytes, reason: str) -> DeadLetter:
    """Add a message to the list, which forgets its oldest letter when it is full."""
    text = body[:MAX_TEXT].decode(errors="replace")
    letter = DeadLetter(queue, reason[:MAX_REASON], len(body), text, int(time.time()))
    with client.pipeline() as pipe:
        pipe.lpush(KEY, json.dumps(asdict(letter))).ltrim(KEY, 0, MAX_LETTERS - 1).expire(KEY, SECONDS).execute()
    return letter


def read(client: Any) -> list[DeadLetter]:
    """Return all dead letters, newest first."""
    return [DeadLetter(**json.loads(text)) for text in client.lrange(KEY, 0, -1)]
