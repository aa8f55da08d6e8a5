# SPDX-License-Identifier: Apache-2.0
"""Documents through which processes reach the bridge: its lease, and requests to read at once, and questions."""

import contextlib
from collections.abc import Sequence
from dataclasses import dataclass

from rpcapi import errors
from scheduler_svc.store.protocols.host_state import HostStateStore

NAMESPACE = "gantt.nova_bridge"  # internal to the store: not in NamespaceRegistry, so not accessible over the bus
LEASE = (NAMESPACE, "lease")
WAKE = "wake"
QUESTION, ANSWER = "question", "answer"


def request_reading(store: HostStateStore) -> None:
    """Make the bridge read what changed in Nova's databases now, not at its next interval; raises StoreUnavailable."""
    version = reading_requests(store)
    with contextlib.suppress(errors.VersionConflict):  # another request has been made since: its reading will do
        store.put_state(NAMESPACE, WAKE, version, {"after": version})


def reading_requests(store: HostStateStore) -> int:
    """Return a number that changes with each request, 0 if there never was one; raises StoreUnavailable."""
    return store.find_state(NAMESPACE, WAKE)[0]


@dataclass(frozen=True, slots=True)
class Question:
    """A question which of these instances exist and have a host in any cell."""

    number: int
    instances: Sequence[str]


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer to a question; ``error`` is why there is none, or None."""

    number: int
    on_hosts: frozenset[str]
    error: str | None


def ask(store: HostStateStore, instances: Sequence[str]) -> int:
    """Store a question; return its number. Raises VersionConflict where another one was asked at that moment."""
    version = store.find_state(NAMESPACE, QUESTION)[0]
    return store.put_state(NAMESPACE, QUESTION, version, {"instances": list(instances), "after": version})


def open_question(store: HostStateStore) -> Question | None:
    """Return the last question if it has no answer, else None; raises StoreUnavailable."""
    number, document = store.find_state(NAMESPACE, QUESTION)
    last = answer(store) if number else None
    is_open = number and (last is None or last.number < number)
    return Question(number, document["instances"]) if is_open else None


def give_answer(store: HostStateStore, reply: Answer) -> None:
    """Store the answer to a question; raises StoreUnavailable."""
    document = {"number": reply.number, "on_hosts": sorted(reply.on_hosts), "error": reply.error}
    store.put_state(NAMESPACE, ANSWER, store.find_state(NAMESPACE, ANSWER)[0], document)


def answer(store: HostStateStore) -> Answer | None:
    """Return the last answer, None if there never was one; raises StoreUnavailable."""
    version, document = store.find_state(NAMESPACE, ANSWER)
    return Answer(document["number"], frozenset(document["on_hosts"]), document["error"]) if version else None
