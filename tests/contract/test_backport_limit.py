# SPDX-License-Identifier: Apache-2.0
"""Senders of objects that are too new occupy only some of a server's threads."""

import threading
from collections import Counter
from typing import Any

import oslo_messaging
import pytest

from rpcapi import errors, objects
from rpcapi.clients.backport import ConductorBackport
from rpcapi.serializer import GanttSerializer
from tests.support.bus.bus_peer import WAIT_SECONDS, Endpoint, Peers, eventually, in_thread, join_all

THREADS = 4
CALLS = 3 * THREADS
NEWER = {**objects.RequestSpec.of(resources={"VCPU": 1}).obj_to_primitive(), "gantt_object.version": "1.99"}


class SilentConductor:
    """A conductor that answers no backport until the test opens the gate, and then reports a time-out."""

    def __init__(self) -> None:
        self.calls = 0
        self.gate = threading.Event()

    def object_backport_versions(self, ctxt: Any, objinst: dict[str, Any], object_versions: dict[str, str]) -> Any:
        self.calls += 1
        assert 0 < ctxt.remaining(60.0) <= 5.0
        self.gate.wait(WAIT_SECONDS)
        raise oslo_messaging.MessagingTimeout("no answer")


@pytest.fixture
def silent_conductor() -> SilentConductor:
    return SilentConductor()


@pytest.fixture
def client(peers: Peers, silent_conductor: Any) -> Any:
    """A client of a server with THREADS threads."""
    serializer = GanttSerializer(ConductorBackport(silent_conductor, THREADS))
    peers.start(Endpoint("s1"), "s1", pool=THREADS, serializer=serializer)
    client = peers.client(timeout=60)
    assert client.call({}, "echo", value=1) == 1
    return client


def test_waiting_backports_leave_threads_for_other_calls(client: Any, silent_conductor: SilentConductor) -> None:
    outcomes: Counter[str] = Counter()

    def call() -> None:
        try:
            client.call({}, "echo", value=NEWER)
        except errors.GanttError as error:
            outcomes[error.code] += 1

    callers = [in_thread(call) for _ in range(CALLS)]
    try:
        eventually(lambda: outcomes.total() == CALLS - THREADS // 2, "all but the waiting ones are refused")
        assert client.call({}, "echo", value=2) == 2
    finally:
        silent_conductor.gate.set()
        join_all(callers)
    assert outcomes == {"overloaded": CALLS - THREADS // 2, "unavailable": THREADS // 2}
    assert silent_conductor.calls == THREADS // 2


@pytest.mark.parametrize("value", [{**NEWER, "gantt_object.version": "2.0"}, [NEWER] * 100, {"spec": NEWER}])
def test_object_that_cannot_be_an_argument_of_a_newer_release_is_refused_at_once(
    client: Any, silent_conductor: SilentConductor, value: Any
) -> None:
    with pytest.raises(errors.IncompatibleObject):
        client.call({}, "echo", value=value)
    assert silent_conductor.calls == 0
