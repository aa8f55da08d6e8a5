# SPDX-License-Identifier: Apache-2.0
"""Dead letters: unprocessable messages, kept by the embedded bus in a bounded list per user."""

import json
import threading
import time
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any

from rpcapi.messaging.drivers import redis_keys

MAX_LETTERS = 100
MAX_TEXT = 1000  # characters kept of a message
MAX_REASON = 200  # characters
SECONDS = 7 * 24 * 3600  # lifetime of a list after its last letter


@dataclass(frozen=True)
class DeadLetter:
    """Beginning (``text``) and ``size`` in bytes of an unprocessable message, received at a Unix time."""

    queue: str
    reason: str
    size: int
    text: str
    received_at: int


class LetterCount:
    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.value = 0

    def add_one(self) -> None:
        with self._lock:
            self.value += 1


COUNT = LetterCount()


def describe(queue: str, body: bytes, reason: str, size: int | None = None) -> DeadLetter:
    text = body[:MAX_TEXT].decode(errors="replace")
    return DeadLetter(queue, reason[:MAX_REASON], len(body) if size is None else size, text, int(time.time()))


def write(client: Any, user: str, letter: DeadLetter) -> None:
    key = redis_keys.dead_letters(user)
    with client.pipeline() as pipe:
        pipe.lpush(key, json.dumps(asdict(letter))).ltrim(key, 0, MAX_LETTERS - 1).expire(key, SECONDS).execute()
    COUNT.add_one()


def read(client: Any, users: Iterable[str]) -> list[DeadLetter]:
    senders = list(users)
    with client.pipeline(transaction=False) as pipe:
        for user in senders:
            pipe.lrange(redis_keys.dead_letters(user), 0, MAX_LETTERS - 1)
        letters = [
            parse(redis_keys.dead_letters(user), text)
            for user, texts in zip(senders, pipe.execute(), strict=True)
            for text in texts
        ]
    return sorted(letters, key=lambda letter: letter.received_at, reverse=True)


def parse(source: str, entry: bytes | str) -> DeadLetter:
    """Parse a dead letter; an unparseable entry becomes a letter that describes it."""
    text = entry.decode(errors="replace") if isinstance(entry, bytes) else entry
    try:
        letter = DeadLetter(**json.loads(text))
        checked = (letter.queue, letter.reason, letter.text, letter.size, letter.received_at)
        if [type(value) for value in checked] == [str, str, str, int, int]:
            return letter
    except (TypeError, ValueError, RecursionError):
        pass
    return DeadLetter(source, "it is not a dead letter", len(entry), text[:MAX_TEXT], 0)
