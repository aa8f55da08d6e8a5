# SPDX-License-Identifier: Apache-2.0
"""Documents for communication with the bridge: lease, requests to read, questions and answers."""

import contextlib
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Any

from rpcapi import errors
from scheduler_svc.store.protocols.host_state import HostStateStore

NAMESPACE = "gantt.nova_bridge"  # internal to the store: absent from NamespaceRegistry, so not accessible over the bus
LEASE = (NAMESPACE, "lease")
WAKE = "wake"
QUESTION, ANSWER = "question", "answer"


def request_reading(store: HostStateStore) -> None:
    """Make the bridge read the changes in Nova's databases now. Raises StoreUnavailable."""
    version = reading_requests(store)
    with contextlib.suppress(errors.VersionConflict):  # the read for a concurrent request serves this one too
        store.put_state(NAMESPACE, WAKE, version, {"after": version})


def reading_requests(store: HostStateStore) -> int:
    """Return a number that changes with each request to read; 0 before the first. Raises StoreUnavailable."""
    return store.find_state(NAMESPACE, WAKE)[0]


class Unanswerable(Exception):
    """Raised, with the reason as its message, if a question cannot be answered now."""


@dataclass(frozen=True, slots=True)
class BridgeReply:
    """Answer to question ``number``; ``error`` is the reason of a failure, otherwise None."""

    number: int
    on_hosts: frozenset[str]
    error: str | None


def ask(store: HostStateStore, instances: Sequence[str]) -> int:
    """Ask which instances have a host; return the question's number. Raises VersionConflict if asked concurrently."""
    version = store.find_state(NAMESPACE, QUESTION)[0]
    return store.put_state(NAMESPACE, QUESTION, version, {"instances": list(instances), "after": version})


def answer_question(store: HostStateStore, find_on_hosts: Callable[[Sequence[str]], Collection[str]]) -> None:
    """Answer the last question, unless it has an answer. Raises StoreUnavailable.

    ``find_on_hosts`` returns the instances that have a host, or raises Unanswerable with the answer's error as message.
    """
    number, question = store.find_state(NAMESPACE, QUESTION)
    version, last_answer = store.find_state(NAMESPACE, ANSWER)
    if number <= last_answer.get("number", 0):
        return
    document: dict[str, Any] = {"number": number, "on_hosts": [], "error": None}
    try:
        document["on_hosts"] = sorted(find_on_hosts(question["instances"]))
    except Unanswerable as error:
        document["error"] = str(error)
    store.put_state(NAMESPACE, ANSWER, version, document)


def answer(store: HostStateStore) -> BridgeReply | None:
    """Return the last answer, None before the first. Raises StoreUnavailable."""
    version, document = store.find_state(NAMESPACE, ANSWER)
    return BridgeReply(document["number"], frozenset(document["on_hosts"]), document["error"]) if version else None
