# SPDX-License-Identifier: Apache-2.0
"""Requests to the bridge to read at once."""

from rpcapi import errors
from scheduler_svc.nova.bridge import signals
from scheduler_svc.nova.bus import waking
from scheduler_svc.store.memory import MemoryStore


class Clock:
    now = 100.0

    def __call__(self):
        return self.now


def test_bridge_is_woken_once_in_a_while():
    store, clock = MemoryStore("default", namespaces=[signals.NAMESPACE]), Clock()
    waker = waking.BridgeWaker(store, clock)
    waker.wake("host h1")
    first = signals.reading_requests(store)
    waker.wake("host h2")
    assert signals.reading_requests(store) == first > 0
    clock.now += waking.PAUSE_SECONDS
    waker.wake("host h3")
    assert signals.reading_requests(store) > first


def test_unavailable_store_fails_no_message():
    class DownStore:
        def find_state(self, namespace, name):
            raise errors.StoreUnavailable(why="down")

    waking.BridgeWaker(DownStore()).wake("host h1")
